package main

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.yaml.in/yaml/v4"

	"agentaudit/store/storetest"
)

// manifest is what the tests look at in a Kubernetes object.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Selector       any
		ScaleTargetRef struct{ Name string } `yaml:"scaleTargetRef"`
		Metrics        []struct {
			External struct {
				Metric struct {
					Name     string
					Selector struct {
						MatchLabels map[string]string `yaml:"matchLabels"`
					}
				}
				Target struct {
					Type         string
					AverageValue string `yaml:"averageValue"`
				}
			}
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				Grace           int  `yaml:"terminationGracePeriodSeconds"`
				Token           bool `yaml:"automountServiceAccountToken"`
				SecurityContext struct {
					RunAsNonRoot bool `yaml:"runAsNonRoot"`
				} `yaml:"securityContext"`
				Containers []struct {
					Image string
					Args  []string
					Ports []struct {
						Name          string
						ContainerPort int `yaml:"containerPort"`
					}
					LivenessProbe  probe                   `yaml:"livenessProbe"`
					ReadinessProbe probe                   `yaml:"readinessProbe"`
					VolumeMounts   []struct{ Name string } `yaml:"volumeMounts"`
				}
				Volumes []struct{ Name string }
			}
		}
	}
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

func TestKubernetesManifests(t *testing.T) {
	var list struct{ Resources []string }
	if err := yaml.Unmarshal([]byte(deployed(t, "kubernetes/kustomization.yaml")), &list); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(deployFolder, "kubernetes", "*.yaml"))
	if err != nil || len(files) != len(list.Resources)+1 {
		t.Errorf("%d files, %d of them are listed, %v", len(files), len(list.Resources), err)
	}
	kinds := map[string]int{}
	deployments := map[string]manifest{}
	var scaled []manifest
	for _, name := range list.Resources {
		for d := yaml.NewDecoder(strings.NewReader(deployed(t, "kubernetes/"+name))); ; {
			var m manifest
			if err := d.Decode(&m); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			kinds[m.Kind]++
			switch m.Kind {
			case "Deployment":
				deployments[m.Metadata.Name] = m
			case "HorizontalPodAutoscaler":
				scaled = append(scaled, m)
			}
		}
	}
	for name, m := range deployments {
		spec := m.Spec.Template.Spec
		c := spec.Containers[0]
		if fault := known(c.Args); fault != "" {
			t.Errorf("%s: %s", name, fault)
		}
		ports := []string{}
		for _, p := range c.Ports {
			ports = append(ports, p.Name)
		}
		for path, p := range map[string]probe{"/healthz": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
			if p.HTTPGet.Path != path || !slices.Contains(ports, p.HTTPGet.Port) {
				t.Errorf("%s: %s is asked at %+v; it has the ports %v", name, path, p, ports)
			}
		}
		if i := slices.Index(c.Args, "--metrics-listen"); i < 0 || !strings.HasSuffix(c.Args[i+1], ":9090") {
			t.Errorf("%s answers no probes: %v", name, c.Args)
		}
		if c.Image != "agentaudit" || spec.Grace < 35 || spec.Token || !spec.SecurityContext.RunAsNonRoot {
			t.Errorf("%s: %+v", name, spec)
		}
		for _, v := range c.VolumeMounts {
			if !slices.ContainsFunc(spec.Volumes, func(x struct{ Name string }) bool { return x.Name == v.Name }) {
				t.Errorf("%s: there is no volume %s", name, v.Name)
			}
		}
	}
	if len(deployments) != 3 || kinds["PodDisruptionBudget"] != 2 || kinds["Service"] != 1 || len(scaled) != 1 {
		t.Fatalf("%v", kinds)
	}
	if _, ok := deployments[scaled[0].Spec.ScaleTargetRef.Name]; !ok {
		t.Errorf("scales what there is not: %+v", scaled[0])
	}
	// The value is for all workers together, so it is divided by their number; and
	// the adapter hands it on as it is, however many processes tell it.
	by := scaled[0].Spec.Metrics[0].External
	if !slices.Contains(metricNames(), by.Metric.Name) || len(by.Metric.Selector.MatchLabels) > 0 || by.Target.Type != "AverageValue" || by.Target.AverageValue != "2000" {
		t.Errorf("scales by %+v", by)
	}
	var adapter struct {
		Rules []struct {
			SeriesQuery  string `yaml:"seriesQuery"`
			MetricsQuery string `yaml:"metricsQuery"`
			Name         struct{ As string }
		} `yaml:"externalRules"`
	}
	if err := yaml.Unmarshal([]byte(deployed(t, "monitoring/adapter.yaml")), &adapter); err != nil || len(adapter.Rules) != 1 {
		t.Fatalf("%+v, %v", adapter, err)
	}
	if r := adapter.Rules[0]; r.SeriesQuery != by.Metric.Name || r.Name.As != by.Metric.Name || r.MetricsQuery != "max(<<.Series>>)" {
		t.Errorf("the adapter offers %+v, workers are scaled by %s", r, by.Metric.Name)
	}
	for _, v := range regexp.MustCompile(`AGENTAUDIT_[A-Z_]*[A-Z]`).FindAllString(deployed(t, "kubernetes/kustomization.yaml"), -1) {
		if !slices.Contains(variables(), v) {
			t.Errorf("the program does not read %s", v)
		}
	}
}

// metricNames are the names of our own metrics.
func metricNames() []string {
	m := newMetrics(slog.New(slog.DiscardHandler))
	descs := make(chan *prometheus.Desc, 1000)
	for _, c := range []prometheus.Collector{m, m.finished, m.attempts, m.duration, m.firings, m.lateness} {
		c.Describe(descs)
	}
	close(descs)
	names := []string{"agentaudit_build_info"}
	for d := range descs {
		names = append(names, regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(d.String())[1])
	}
	return names
}

// What alerts and dashboards ask for exists.
func TestMonitoringAsksForWhatExists(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(deployed(t, "monitoring/alerts.yaml")), &rules); err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(deployed(t, "monitoring/grafana.json")), &board); err != nil {
		t.Fatal(err)
	}
	var asked []string
	for _, r := range rules.Groups[0].Rules {
		asked = append(asked, r.Expr)
		if r.Alert == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("an alert that does not say what to do: %+v", r)
		}
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			asked = append(asked, target.Expr)
		}
	}
	if len(rules.Groups[0].Rules) < 5 || len(board.Panels) < 8 {
		t.Errorf("%d alerts, %d panels", len(rules.Groups[0].Rules), len(board.Panels))
	}
	names := metricNames()
	states := []string{}
	told := make(chan prometheus.Metric, 100)
	m := newMetrics(slog.New(slog.DiscardHandler))
	m.store, _ = storetest.New(t)
	m.Collect(told)
	close(told)
	for metric := range told {
		var d dto.Metric
		if metric.Desc() == openRuns && metric.Write(&d) == nil {
			states = append(states, d.Label[0].GetValue())
		}
	}
	for _, expr := range asked {
		for _, label := range regexp.MustCompile(`agentaudit_runs\{state=~?"([^"]*)"`).FindAllStringSubmatch(expr, -1) {
			for state := range strings.SplitSeq(label[1], "|") {
				if !slices.Contains(states, state) {
					t.Errorf("%s asks for runs that are %s; there are %v", expr, state, states)
				}
				// Neither paused runs nor those that are due later are anybody's fault.
				if state != "due" && state != "enqueued" {
					t.Errorf("%s takes %s for work that nobody does", expr, state)
				}
			}
		}
		if strings.Count(expr, "(") != strings.Count(expr, ")") {
			t.Errorf("brackets do not match: %s", expr)
		}
		for _, name := range regexp.MustCompile(`agentaudit_\w+`).FindAllString(expr, -1) {
			if !slices.Contains(names, strings.TrimSuffix(name, "_bucket")) {
				t.Errorf("%s asks for %s; there are %v", expr, name, names)
			}
		}
	}
}
