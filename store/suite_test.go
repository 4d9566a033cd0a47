package store_test

import (
	"os"
	"testing"

	"agentaudit/store"
	"agentaudit/store/storetest"
)

// opener opens the same empty database anew each time it is called within one
// test; reopen after Close finds what was written.
type opener func(t *testing.T, o store.Options) *store.Store

// Exercise runs the behaviour that every database must show.
func Exercise(t *testing.T, fresh func(t *testing.T) opener) {
	for _, c := range []struct {
		name string
		f    func(t *testing.T, open opener)
	}{
		{"Intake", testIntake},
		{"IntakeOrderAndTags", testIntakeNotes},
		{"IntakeConflicts", testIntakeConflicts},
		{"DiscardIntake", testDiscardIntake},
		{"EmptyBatch", testEmptyBatch},
		{"IDs", testIDs},
		{"FairShares", testFairShares},
		{"HostsTakeTurns", testHostsTakeTurns},
		{"WorkOn", testWorkOn},
		{"Unqueue", testUnqueue},
		{"Forgotten", testForgotten},
		{"ClaimAndFinish", testClaimAndFinish},
		{"ClaimRefusals", testClaimRefusals},
		{"LateWriterWritesNothing", testLateWriter},
		{"RetryKeeps", testRetryKeeps},
		{"Pulse", testPulse},
		{"Backlog", testBacklog},
		{"Release", testRelease},
		{"Leases", testLeases},
		{"ResetRunning", testResetRunning},
		{"ConcurrentFinish", testConcurrentFinish},
		{"Answers", testAnswers},
		{"Status", testStatus},
		{"ManyProcesses", testManyProcesses},
		{"OneClaimWins", testOneClaimWins},
		{"PauseResume", testPauseResume},
		{"Cancel", testCancel},
		{"CancelIntake", testCancelIntake},
		{"RetryBatch", testRetryBatch},
		{"RetryCancelled", testRetryCancelled},
		{"AgentsCounts", testAgentsCounts},
		{"Rows", testRows},
		{"Filters", testFilters},
		{"FiltersLookingAtFew", testFiltersLookingAtFew},
		{"RowsOfRun", testRowsOfRun},
		{"TextSearch", testTextSearch},
		{"Pages", testPages},
		{"Cursors", testCursors},
		{"Orders", testOrders},
		{"ChangedSince", testChangedSince},
		{"SiteOverTime", testSiteOverTime},
		{"SiteAfterRetry", testSiteAfterRetry},
		{"Batches", testBatches},
		{"OpenBatches", testOpenBatches},
		{"Run", testRun},
		{"Compare", testCompare},
		{"CompareConflicts", testCompareConflicts},
		{"RunResults", testRunResults},
		{"Draft", testDraft},
		{"HeldDraft", testHeldDraft},
		{"DraftWhileItIsRead", testDraftWhileItIsRead},
		{"ListsThatNobodyReads", testListsThatNobodyReads},
		{"TwoReadersOfOneList", testTwoReaders},
		{"Listing", testListing},
		{"ListingConflicts", testListingConflicts},
		{"ListingChanges", testListingChanges},
		{"ListingResumesLargeIntake", testListingResumesLargeIntake},
		{"Deliveries", testDeliveries},
		{"Sites", testSites},
		{"Sessions", testSessions},
		{"Tokens", testTokens},
		{"SetWebhooks", testSetWebhooks},
		{"Shares", testShares},
		{"DropReports", testDropReports},
		{"Schedules", testSchedules},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.f(t, fresh(t))
		})
	}
}

func TestSQLite(t *testing.T) {
	Exercise(t, func(t *testing.T) opener {
		dir := t.TempDir()
		return func(t *testing.T, o store.Options) *store.Store { return storetest.Open(t, dir, o) }
	})
}

func TestPostgres(t *testing.T) {
	Exercise(t, func(t *testing.T) opener {
		url := storetest.Postgres(t)
		return func(t *testing.T, o store.Options) *store.Store { return storetest.Open(t, url, o) }
	})
}

func TestMain(m *testing.M) {
	code := m.Run()
	storetest.StopPostgres()
	os.Exit(code)
}
