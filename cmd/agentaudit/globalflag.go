package main

import (
	"flag"

	"github.com/urfave/cli/v2"
)

// globalFlag is a flag of which the library has one for the whole process. It
// writes into a copy, so that programs that run side by side, as in tests, do
// not write into the same one.
type globalFlag struct{ *cli.BoolFlag }

// Apply defines the flag as the library does.
func (f globalFlag) Apply(set *flag.FlagSet) error {
	own := *f.BoolFlag
	return own.Apply(set)
}

func init() {
	for _, f := range []*cli.Flag{&cli.HelpFlag, &cli.VersionFlag} {
		if b, ok := (*f).(*cli.BoolFlag); ok {
			*f = globalFlag{b}
		}
	}
}
