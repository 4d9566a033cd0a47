package main

import "github.com/urfave/cli/v2"

// commands lists the commands in the order in which a newcomer meets them.
func commands(s streams) []*cli.Command {
	return []*cli.Command{
		demoCommand(s),
		auditCommand(s),
		runCommand(s),
		batchesCommand(s),
		resultsCommand(s),
		retryCommand(s),
		cancelCommand(s),
		validateCommand(s),
		textCommand(s),
	}
}
