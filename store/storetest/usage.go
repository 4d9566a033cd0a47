package storetest

import (
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// clockTick is the unit of CPU time in /proc on Linux (proc_pid_stat(5)).
const clockTick = 10 * time.Millisecond

// CPU is the CPU time that the server's processes have used so far. It is known
// on Linux only; elsewhere it is an error of the test.
func (s *Server) CPU(t testing.TB) (used time.Duration) {
	t.Helper()
	pid := strconv.Itoa(s.cmd.Process.Pid)
	children, err := os.ReadFile(fmt.Sprintf("/proc/%s/task/%s/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(strings.Fields(string(children)), pid) {
		stat, err := os.ReadFile("/proc/" + p + "/stat")
		if err != nil {
			continue // it has ended, and counts with its parent
		}
		// The name in brackets may hold anything; behind it the time is in the
		// fields 12 to 15, that of children that ended included.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		for _, f := range fields[11:15] {
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			used += time.Duration(n) * clockTick
		}
	}
	return used
}

// Size is the number of bytes that a database of the server takes on disk,
// indexes included.
func (s *Server) Size(t testing.TB, url string) (bytes int64) {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow("SELECT pg_database_size(current_database())").Scan(&bytes); err != nil {
		t.Fatal(err)
	}
	return bytes
}
