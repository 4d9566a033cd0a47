package main

import (
	"runtime/debug"
	"strings"
)

// version, commit and date are set by release builds through -ldflags -X; other
// builds take what the Go toolchain recorded.
var version, commit, date string

// programVersion is the version alone, as the User-Agent names it.
func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return "devel"
}

// versionLine is what --version prints behind the program's name.
func versionLine() string {
	c, d := commit, date
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && c == "":
				c = s.Value
			case s.Key == "vcs.time" && d == "":
				d = s.Value
			}
		}
	}
	if c == "" {
		c = "unknown"
	}
	if d == "" {
		d = "unknown"
	}
	return programVersion() + " (commit " + c + ", " + d + ")"
}
