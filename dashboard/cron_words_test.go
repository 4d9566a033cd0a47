package dashboard

import "testing"

func TestCronWords(t *testing.T) {
	for cron, want := range map[string]string{
		"@weekly":        "every Sunday at 0:00, UTC",
		"30 3 * * *":     "every day at 3:30, UTC",
		"5 3 * * 1":      "every Monday at 3:05, UTC",
		"0 3 * * 7":      "every Sunday at 3:00, UTC",
		"0 3 * * 1,3,5":  "every Monday, Wednesday and Friday at 3:00, UTC",
		"0 3,15 * * 1-5": "every day from Monday to Friday at 3:00 and 15:00, UTC",
		"0 4 1 * *":      "on day 1 of every month at 4:00, UTC",
		"0 * * * *":      "every hour, UTC",
		"1 * * * *":      "every hour at 1 minute past, UTC",
		"*/15 * * * *":   "every 15 minutes, UTC",
		"20 */6 * * *":   "every 6 hours at 20 minutes past, UTC",
		"0 */6 * * 6":    "every Saturday every 6 hours, UTC",
		// What is not equal pauses, or takes more than a few words.
		"*/7 * * * *":   "at */7 * * * *, UTC",
		"0 3 * 2 *":     "at 0 3 * 2 *, UTC",
		"0 3 1 1 *":     "at 0 3 1 1 *, UTC",
		"0 3 1 * 1":     "at 0 3 1 * 1, UTC",
		"0 3 * * 1-5/2": "at 0 3 * * 1-5/2, UTC",
		"0-5 3 * * *":   "at 0-5 3 * * *, UTC",
		"0 3 */2 * *":   "at 0 3 */2 * *, UTC",
		"0 3 * * MON":   "at 0 3 * * MON, UTC",
		"@every 5m":     "at @every 5m, UTC",
	} {
		if got := cronWords(cron, "UTC"); got != want {
			t.Errorf("%s: %q, want %q", cron, got, want)
		}
	}
}
