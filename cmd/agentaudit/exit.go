package main

import (
	"context"
	"errors"
	"fmt"
)

// The exit codes that scripts rely on.
const (
	exitFine        = 0
	exitObjects     = 1   // the audit objects
	exitUsage       = 2   // wrong use or bad input
	exitUndone      = 3   // it could not be done or checked
	exitInterrupted = 130 // SIGINT or SIGTERM before the end
)

// exitError carries an exit code up to run. An empty message prints nothing:
// the command has said what is to be said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usagef reports wrong use or bad input.
func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// undone reports that something could not be done or checked.
func undone(err error) error { return &exitError{exitUndone, err} }

// objects ends the program with the code for "the audit objects"; the command
// has printed the objections.
func objects() error { return &exitError{code: exitObjects} }

// exitCode maps what a command returned to an exit code.
func exitCode(ctx context.Context, err error) int {
	var e *exitError
	switch {
	case err == nil:
		return exitFine
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &e):
		return e.code
	case ctx.Err() != nil:
		return exitInterrupted
	}
	return exitUndone
}
