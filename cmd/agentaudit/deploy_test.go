package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v4"

	"agentaudit/queue"
)

const deployFolder = "../../deploy"

func deployed(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(deployFolder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// known reports what is wrong with a command line of the program (without its
// name): a command or flag that there is not.
func known(words []string) string {
	app := newApp(streams{})
	commands, flags, path := app.Commands, app.Flags, ""
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		switch {
		case word == "--help" || word == "--version":
		case strings.HasPrefix(word, "-") && word != "-":
			name, _, glued := strings.Cut(strings.TrimLeft(word, "-"), "=")
			f := flagNamed(flags, name)
			if f == nil {
				f = flagNamed(app.Flags, name)
			}
			if f == nil {
				return "agentaudit" + path + " has no flag " + word
			}
			if takesValue(f) && !glued && len(words) > 0 {
				words = words[1:]
			}
		case commandNamed(commands, word) != nil:
			c := commandNamed(commands, word)
			commands, flags, path = c.Subcommands, c.Flags, path+" "+word
		case path == "":
			return "there is no command " + word
		}
	}
	return ""
}

// variables are the environment variables that the program reads.
func variables() []string {
	names := []string{"AGENTAUDIT_REDIS_PASSWORD", secretEnv, hookSecretEnv, "PGPASSWORD"}
	add := func(flags []cli.Flag) {
		for _, f := range flags {
			if d, ok := f.(cli.DocGenerationFlag); ok {
				names = append(names, d.GetEnvVars()...)
			}
		}
	}
	app := newApp(streams{})
	add(app.Flags)
	var walk func([]*cli.Command)
	walk = func(commands []*cli.Command) {
		for _, c := range commands {
			add(c.Flags)
			walk(c.Subcommands)
		}
	}
	walk(app.Commands)
	return names
}

func TestComposeFile(t *testing.T) {
	var file struct {
		Services map[string]struct {
			Image, User string
			Command     []string
			ReadOnly    bool     `yaml:"read_only"`
			CapDrop     []string `yaml:"cap_drop"`
			Environment map[string]string
			Networks    []string
			Ports       []string
			Volumes     []string
			Secrets     []string
		}
		Networks map[string]struct{ Internal bool }
		Volumes  map[string]any
		Secrets  map[string]any
	}
	if err := yaml.Unmarshal([]byte(deployed(t, "compose.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	names := variables()
	ours := 0
	for name, s := range file.Services {
		for _, n := range s.Networks {
			if _, ok := file.Networks[n]; !ok {
				t.Errorf("%s: there is no network %s", name, n)
			}
		}
		for _, v := range s.Volumes {
			if source, _, _ := strings.Cut(v, ":"); !strings.HasPrefix(source, ".") {
				if _, ok := file.Volumes[source]; !ok {
					t.Errorf("%s: there is no volume %s", name, source)
				}
			}
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s can be reached from other machines: %s", name, p)
			}
		}
		if s.Image != "agentaudit" {
			continue
		}
		ours++
		if fault := known(s.Command); fault != "" {
			t.Errorf("%s: %s", name, fault)
		}
		for v := range s.Environment {
			if !slices.Contains(names, v) {
				t.Errorf("%s: the program does not read %s", name, v)
			}
		}
		if !s.ReadOnly || s.User != "65532:65532" || !slices.Contains(s.CapDrop, "ALL") {
			t.Errorf("%s has more rights than it needs: %+v", name, s)
		}
		if name == "dashboard" && !slices.Contains(s.Command, "--users") {
			t.Error("the dashboard has no users, and would refuse its address")
		}
	}
	redis := strings.Join(file.Services["redis"].Command, " ")
	if ours != 3 || !strings.Contains(redis, "--appendonly yes") || !strings.Contains(redis, "--maxmemory-policy noeviction") {
		t.Errorf("%d services of ours; Redis is started with %q", ours, redis)
	}
	for _, name := range []string{"redis", "postgres"} {
		if s := file.Services[name]; !slices.Equal(s.Networks, []string{"inside"}) || len(s.Ports) > 0 || !file.Networks["inside"].Internal {
			t.Errorf("%s can be reached from elsewhere", name)
		}
	}
}

func TestDockerfile(t *testing.T) {
	text := deployed(t, "Dockerfile")
	for _, want := range []string{"CGO_ENABLED=0", "\nFROM scratch\n", "\nUSER 65532:65532\n", "ca-certificates.crt", "-X main.version=", "-X main.commit=", "-X main.date="} {
		if !strings.Contains(text, want) {
			t.Errorf("the Dockerfile lacks %q", want)
		}
	}
	var words []string
	m := regexp.MustCompile(`(?m)^CMD (\[.*\])$`).FindStringSubmatch(text)
	if m == nil || json.Unmarshal([]byte(m[1]), &words) != nil || known(words) != "" {
		t.Errorf("CMD %v: %s", m, known(words))
	}
	for _, m := range regexp.MustCompile(`AGENTAUDIT_[A-Z_]+`).FindAllString(text, -1) {
		if !slices.Contains(variables(), m) {
			t.Errorf("the program does not read %s", m)
		}
	}
}

func TestUnits(t *testing.T) {
	units, err := filepath.Glob(filepath.Join(deployFolder, "systemd", "*.service"))
	if err != nil || len(units) != 4 {
		t.Fatalf("%d units, %v", len(units), err)
	}
	private := map[string]string{}
	for _, path := range units {
		name := filepath.Base(path)
		text := deployed(t, filepath.Join("systemd", name))
		m := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/agentaudit (.*)$`).FindStringSubmatch(text)
		if m == nil {
			t.Errorf("%s starts something else", name)
			continue
		}
		if fault := known(strings.Fields(m[1])); fault != "" {
			t.Errorf("%s: %s", name, fault)
		}
		// Every process tells how it is, each instance at an address of its own.
		at := regexp.MustCompile(` --metrics-listen (127\.0\.0\.1:\S+)`).FindStringSubmatch(m[0])
		if at == nil || private[at[1]] != "" || strings.Contains(name, "@") != strings.HasSuffix(at[1], ":920%i") {
			t.Errorf("%s listens for operators at %q; others do so at %v", name, at, private)
		} else {
			private[at[1]] = name
		}
		for _, want := range []string{"User=agentaudit", "NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet=\n", "SystemCallFilter=@system-service",
			"RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX", "TimeoutStopSec=40", "Restart=on-failure"} {
			if !strings.Contains(text, "\n"+want) {
				t.Errorf("%s lacks %s", name, want)
			}
		}
		if _, err := exec.LookPath("systemd-analyze"); err != nil {
			t.Logf("%s is not verified: %v", name, err)
			continue
		}
		// Neither the program nor its user need be on this machine.
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		text = strings.NewReplacer("/usr/local/bin/agentaudit", self, "\nUser=agentaudit", "", "\nGroup=agentaudit", "").Replace(text)
		copied := writeFile(t, t.TempDir(), name, text)
		if out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", copied).CombinedOutput(); err != nil || strings.Contains(string(out), name) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// What the manuals tell people to type exists.
func TestManualsNameWhatExists(t *testing.T) {
	for _, path := range []string{"../../README.md", deployFolder + "/README.md", deployFolder + "/compose.yaml"} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		// In code blocks and between backticks, up to what ends a command.
		for _, m := range regexp.MustCompile("(?m)(?:^\\./|[`|;(] ?|&& |-u agentaudit |-T dashboard |run ./cmd/)(?:\\./)?agentaudit ([a-z-][^`|;>&#\n]*)").FindAllStringSubmatch(string(data), -1) {
			words := strings.Fields(m[1])
			lines++
			if fault := known(words); fault != "" {
				t.Errorf("%s: agentaudit %s: %s", path, strings.TrimSpace(m[1]), fault)
			}
		}
		for _, m := range regexp.MustCompile(`AGENTAUDIT_[A-Z_]*[A-Z]`).FindAllString(string(data), -1) {
			if !slices.Contains(variables(), m) && m != "AGENTAUDIT_REQUIRE" {
				t.Errorf("%s: the program does not read %s", path, m)
			}
		}
		if lines < 3 && strings.HasSuffix(path, ".md") {
			t.Errorf("%s: only %d command lines were found", path, lines)
		}
		t.Logf("%s: %d command lines", path, lines)
	}
}

// The manual names the rights that are tested.
func TestManualNamesRightsOfRedisUser(t *testing.T) {
	m := regexp.MustCompile(`(?m)^redis-cli ACL SETUSER agentaudit on '>PASSWORD' (.*)$`).FindStringSubmatch(deployed(t, "README.md"))
	if m == nil || strings.ReplaceAll(m[1], "'", "") != queue.Rights {
		t.Errorf("the manual says %q, want %q", m, queue.Rights)
	}
}

func TestKnownFindsFaults(t *testing.T) {
	for _, words := range []string{"serv", "serve --listn x", "schedule add --crn x", "worker --redis URL --wrong"} {
		if known(strings.Fields(words)) == "" {
			t.Errorf("agentaudit %s is taken for right", words)
		}
	}
	for _, words := range []string{"serve --listen :1 --redis x", "schedule add weekly a.example --cron @daily", "run list.csv --store=x", "--help"} {
		if fault := known(strings.Fields(words)); fault != "" {
			t.Errorf("agentaudit %s: %s", words, fault)
		}
	}
}
