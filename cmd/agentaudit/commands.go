package main

import "github.com/urfave/cli/v2"

// commands lists the commands in the order in which a newcomer meets them.
func commands(s streams) []*cli.Command {
	return []*cli.Command{
		demoCommand(s),
		auditCommand(s),
		agentsCommand(s),
		runCommand(s),
		batchesCommand(s),
		resultsCommand(s),
		retryCommand(s),
		cancelCommand(s),
		pauseCommand(s),
		resumeCommand(s),
		compareCommand(s),
		serveCommand(s),
		enqueueCommand(s),
		workerCommand(s),
		scheduleCommand(s),
		dashboardCommand(s),
		discoverCommand(s),
		bundleCommand(s),
		initCommand(s),
		validateCommand(s),
		textCommand(s),
		mcpCommand(s),
		deliveriesCommand(s),
		passwordCommand(s),
		dbCommand(s),
	}
}
