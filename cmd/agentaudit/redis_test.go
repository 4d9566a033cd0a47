package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentaudit/queue/queuetest"
)

// The password comes from a file or the environment, and a server that throws
// jobs away is told of.
func TestRedisPasswordAndWarnings(t *testing.T) {
	r := queuetest.Redis(t)
	admin := r.Client()
	defer admin.Close()
	ctx := context.Background()
	for k, v := range map[string]string{"maxmemory": "1gb", "maxmemory-policy": "allkeys-lru", "requirepass": "hunter2"} {
		if err := admin.ConfigSet(ctx, k, v).Err(); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ env, file, want string }{
		{"hunter2", "", ""},
		{"wrong", file, ""}, // the file is the nearer word
		{"", "", "set AGENTAUDIT_REDIS_PASSWORD or give --redis-password-file"},
		{"wrong", "", "knows no user \"default\" with this password; set AGENTAUDIT_REDIS_PASSWORD"},
		{"", empty, "the file is empty"},
		{"", filepath.Join(t.TempDir(), "none"), "no such file"},
	} {
		t.Setenv("AGENTAUDIT_REDIS_PASSWORD", c.env)
		var log bytes.Buffer
		q, err := openQueue(ctx, &config{redis: r.URL, redisPasswordFile: c.file, log: slog.New(slog.NewTextHandler(&log, nil))})
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		q.Close()
		if !strings.Contains(log.String(), "allkeys-lru") {
			t.Errorf("no warning: %s", log.String())
		}
	}
}
