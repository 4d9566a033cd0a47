package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v4"

	"agentaudit/queue/queuetest"
)

const actionDir = "../../.github/actions/audit"

// readYAML reads a file of the repository.
func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

type actionFile struct {
	Inputs map[string]struct {
		Description string
		Default     string
	}
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Using string
		Steps []struct {
			ID, Shell, Run, Uses string
			Env                  map[string]string
		}
	}
}

// The bash of macOS runners is 3.2, to which an empty array is an unbound
// variable: with set -u the script would end there.
func TestActionOnMacOS(t *testing.T) {
	data, err := os.ReadFile(actionDir + "/audit.sh")
	if err != nil {
		t.Fatal(err)
	}
	guarded := regexp.MustCompile(`\$\{\w+\[@\]\+"\$\{\w+\[@\]\}"\}`)
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") && strings.Contains(guarded.ReplaceAllString(line, ""), "[@]") {
			t.Errorf("an array that may be empty stands unguarded: %s", line)
		}
	}
}

// The action hands every input to the script by the environment, and to it
// alone: text in a command line would be a command.
func TestActionInputs(t *testing.T) {
	var a actionFile
	readYAML(t, actionDir+"/action.yml", &a)
	want := []string{"baseline", "fail-on", "format", "list", "publication", "url"}
	if got := slices.Sorted(maps.Keys(a.Inputs)); !slices.Equal(got, want) || a.Runs.Using != "composite" {
		t.Errorf("inputs %v of a %s action, want %v of a composite one", got, a.Runs.Using, want)
	}
	env := map[string]string{}
	for _, s := range a.Runs.Steps {
		if strings.Contains(s.Run, "${{") {
			t.Errorf("a command holds an expression: %s", s.Run)
		}
		if s.Run != "" && s.Shell == "" {
			t.Errorf("a composite step without shell: %s", s.Run)
		}
		maps.Copy(env, s.Env)
	}
	for name, in := range a.Inputs {
		variable := "INPUT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if env[variable] != "${{ inputs."+name+" }}" || in.Description == "" {
			t.Errorf("input %s: %s is %q", name, variable, env[variable])
		}
	}
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses string
				With map[string]string
			}
		}
	}
	readYAML(t, "../../.github/workflows/action.yml", &workflow)
	used := 0
	for _, job := range workflow.Jobs {
		for _, s := range job.Steps {
			if s.Uses != "./.github/actions/audit" {
				continue
			}
			used++
			for name := range s.With {
				if _, ok := a.Inputs[name]; !ok {
					t.Errorf("the workflow gives %s, which is no input", name)
				}
			}
		}
	}
	if used == 0 {
		t.Error("the workflow does not use the action")
	}
}

// script runs the action's script with a stand-in for the program that keeps
// its arguments, one call a line, and ends with a code.
func script(t *testing.T, code string, inputs map[string]string) (exit int, calls [][]string, outputs string) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		queuetest.Require(t, "bash", err.Error())
	}
	dir := t.TempDir()
	fake := "#!" + bash + "\nprintf '%s\\x1f' \"$@\" >> \"$CALLS\"; echo >> \"$CALLS\"; [ \"$1\" = run ] && exit " + code + "; echo document\n"
	if err := os.WriteFile(filepath.Join(dir, "agentaudit"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"PATH": dir + ":" + os.Getenv("PATH"), "CALLS": filepath.Join(dir, "calls"), "RUNNER_TEMP": dir,
		"GITHUB_OUTPUT": filepath.Join(dir, "output"), "GITHUB_STEP_SUMMARY": filepath.Join(dir, "summary"),
		"INPUT_URL": "", "INPUT_LIST": "", "INPUT_PUBLICATION": "false", "INPUT_FAIL_ON": "failed", "INPUT_FORMAT": "sarif", "INPUT_BASELINE": "",
	}
	maps.Copy(env, inputs)
	path, err := filepath.Abs(actionDir + "/audit.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), bash, path)
	cmd.Dir = dir
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	t.Log(said.String())
	text, _ := os.ReadFile(env["CALLS"])
	for line := range strings.Lines(string(text)) {
		calls = append(calls, strings.Split(strings.TrimSuffix(line, "\x1f\n"), "\x1f"))
	}
	out, _ := os.ReadFile(env["GITHUB_OUTPUT"])
	return cmd.ProcessState.ExitCode(), calls, string(out)
}

func TestActionScript(t *testing.T) {
	app := newApp(streams{})
	hostile := "https://x.example/$(touch pwned);`id`"
	for _, c := range []struct {
		name   string
		code   string
		inputs map[string]string
		exit   int
		run    []string
		calls  int
	}{
		{"a site", "0", map[string]string{"INPUT_URL": hostile}, 0, []string{"run", hostile, "--name", hostile, "--fail-on", "failed"}, 3},
		{"objections", "1", map[string]string{"INPUT_URL": "x.example", "INPUT_PUBLICATION": "true", "INPUT_BASELINE": "a b.sarif"}, 1,
			[]string{"run", "x.example", "--name", "x.example", "--fail-on", "partial", "--baseline", "a b.sarif"}, 3},
		{"no verdict", "3", map[string]string{"INPUT_URL": "x.example", "INPUT_FORMAT": "csv", "INPUT_BASELINE": "b", "INPUT_FAIL_ON": "never"}, 0,
			[]string{"run", "x.example", "--name", "x.example", "--fail-on", "never"}, 3},
		{"wrong use", "2", map[string]string{"INPUT_URL": "x.example", "INPUT_FAIL_ON": "odd"}, 2, []string{"run", "x.example", "--name", "x.example", "--fail-on", "odd"}, 1},
		{"nothing", "0", nil, 2, nil, 0},
		{"both", "0", map[string]string{"INPUT_URL": "x.example", "INPUT_LIST": "agentaudit"}, 2, nil, 0},
		{"a list", "0", map[string]string{"INPUT_LIST": "agentaudit"}, 0, []string{"run", "agentaudit", "--name", "agentaudit", "--fail-on", "failed"}, 3},
		{"no such list", "0", map[string]string{"INPUT_LIST": "nowhere"}, 2, nil, 0},
		{"a flag as a site", "0", map[string]string{"INPUT_URL": "--help"}, 2, nil, 0},
		{"a format that is none", "0", map[string]string{"INPUT_URL": "x.example", "INPUT_FORMAT": "html"}, 2, nil, 0},
		{"a boolean that is none", "0", map[string]string{"INPUT_URL": "x.example", "INPUT_PUBLICATION": "yes"}, 2, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			exit, calls, outputs := script(t, c.code, c.inputs)
			if exit != c.exit || len(calls) != c.calls || c.calls > 0 && !slices.Equal(calls[0], c.run) {
				t.Errorf("exit %d, calls %q; want %d and %d, the first %q", exit, calls, c.exit, c.calls, c.run)
			}
			if c.calls == 3 && (!strings.Contains(outputs, "exit-code="+c.code+"\n") || !strings.Contains(outputs, "report=")) {
				t.Errorf("outputs are %q", outputs)
			}
			for _, call := range calls {
				checkCall(t, app, call)
			}
		})
	}
}

// checkCall fails if the program has no such command or flag.
func checkCall(t *testing.T, app *cli.App, call []string) {
	t.Helper()
	command := app.Command(call[0])
	if command == nil {
		t.Fatalf("there is no command %s", call[0])
	}
	for i, arg := range call {
		name, ok := strings.CutPrefix(arg, "--")
		if !ok || i > 0 && call[i-1] == "--name" {
			continue
		}
		if !slices.ContainsFunc(command.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) }) {
			t.Errorf("%s has no flag --%s", call[0], name)
		}
	}
}
