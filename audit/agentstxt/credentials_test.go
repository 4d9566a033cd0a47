package agentstxt

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// harbour is made up text that looks random: harbour words in a row. No token
// stands in this file in one piece, so that no scanner of a code host takes
// the tests for a leak.
const harbour = "Gull7Rope2Mast9Pier4Sand0Kelp5Tide8Buoy3Dune6Reef1Cove7Wharf2Sail9Oar4Crab0Net5Hook8Cork3Lamp6Tar1Deck7Bow2Stern9"

const hexWords = "c0ffee5eaf00d7decade2facade9beef4dead8bead6fade1deed3cafe0babe5f"

func run(n int) string { return harbour[:n] }

func segment(v any) string {
	raw, _ := json.Marshal(v)
	return base64.RawURLEncoding.EncodeToString(raw)
}

func kinds(list []Credential) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.Kind+" "+string(c.Severity))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var testClock = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func TestEveryTokenShape(t *testing.T) {
	upper := strings.ToUpper(harbour)
	live := segment(map[string]any{"exp": 4102444800})
	tokens := map[string]string{
		"aws-key-id":    "AKIA" + upper[:16],
		"github":        "ghs" + "_" + run(36),
		"github-fine":   "github" + "_pat_" + run(82),
		"gitlab":        "glpat" + "-" + run(20),
		"slack":         "xoxp" + "-" + run(12),
		"slack-app":     "xapp" + "-1-" + run(12),
		"slack-hook":    "hooks.slack" + ".com/services/T" + upper[:8] + "/B" + upper[:8] + "/" + run(24),
		"stripe":        "rk" + "_live_" + run(16),
		"stripe-test":   "sk" + "_test_" + run(16),
		"stripe-hook":   "whsec" + "_" + run(24),
		"stripe-public": "pk" + "_test_" + run(16),
		"openai":        "sk-svc" + "acct-" + run(20),
		"anthropic":     "sk-" + "ant-api03-" + run(60),
		"openai-old":    "sk" + "-" + run(48),
		"google-api":    "AI" + "za" + run(35),
		"google-secret": "GOC" + "SPX-" + run(28),
		"google-access": "ya" + "29." + run(20),
		"sendgrid":      "S" + "G." + run(22) + "." + run(43),
		"mailgun":       "key" + "-" + hexWords[:32],
		"twilio":        "S" + "K" + hexWords[:32],
		"npm":           "npm" + "_" + run(36),
		"pypi":          "pypi" + "-AgEI" + run(50),
		"huggingface":   "h" + "f_" + run(34),
		"shopify":       "shp" + "at_" + hexWords[:32],
		"digitalocean":  "do" + "p_v1_" + hexWords[:64],
		"vault":         "hv" + "s." + run(24),
		"linear":        "lin" + "_api_" + run(40),
		"notion":        "nt" + "n_" + run(40),
		"supabase":      "sb" + "p_" + hexWords[:40],
		"databricks":    "da" + "pi" + hexWords[:32],
		"groq":          "gs" + "k_" + run(40),
		"xai":           "xa" + "i-" + run(60),
		"replicate":     "r" + "8_" + run(37),
		"figma":         "fi" + "gd_" + run(40),
		"telegram":      "729405836" + ":AA" + run(33),
		"jwt":           segment(map[string]string{"alg": "HS256"}) + "." + live + "." + run(20),
		"private-key":   "-----BEGIN " + "OPENSSH PRIVATE KEY-----",
		"azure-storage": "AccountKey=" + run(86) + "==",
		"azure-sas":     "https://a.example/b?se=2027&sig=" + run(40),
		"url-userinfo":  "https://gull:" + run(9) + "@shop.example/",
		"authorization": "Bearer " + run(24),
	}
	if len(tokens) != len(shapes) {
		t.Errorf("%d tokens for %d shapes", len(tokens), len(shapes))
	}
	for i := range shapes {
		sh := shapes[i]
		token := tokens[sh.kind]
		want := sh.kind + " " + string(sh.severity)
		for form, doc := range map[string]*Document{
			"comment": ParseText([]byte(head + "# see " + token + " there\n")),
			"value":   ParseText([]byte(head + "Site-Description: " + token + "\n")),
			"member":  ParseJSON([]byte(with(goodJSON, `"Find an item"`, quoteJSON("x "+token)))),
			"name":    ParseJSON([]byte(with(goodJSON, `"agents"`, quoteJSON(token)+`: {"a": ["b"]}, "agents"`))),
			"broken":  ParseJSON([]byte(`{"specVersion": ` + quoteJSON(token))),
		} {
			got := doc.Credentials(testClock)
			if !slices.Contains(kinds(got), want) {
				t.Errorf("%s in a %s: %v", sh.kind, form, kinds(got))
			}
			rep := judgeBody(map[Form]string{TextForm: TextPath, JSONForm: JSONPath}[doc.Form], doc.src.text)
			if out := fmt.Sprintf("%+v", rep); sh.kind != "private-key" && strings.Contains(out, hits(doc)[0].secret) {
				t.Errorf("%s in a %s is printed", sh.kind, form)
			}
		}
		// A row of x in its place is none.
		if i := strings.IndexAny(token, harbour[:1]+"c"); sh.kind != "private-key" && sh.kind != "jwt" && i >= 0 {
			masked := strings.NewReplacer(run(20), strings.Repeat("x", 20), hexWords[:32], strings.Repeat("x", 32), upper[:16], strings.Repeat("X", 16),
				run(9), strings.Repeat("x", 9), run(12), strings.Repeat("x", 12), run(16), strings.Repeat("x", 16)).Replace(token)
			if got := ParseText([]byte("# " + masked)).Credentials(testClock); slices.Contains(kinds(got), want) && sh.kind != "slack-hook" {
				t.Errorf("%s with a row of x: %v", sh.kind, kinds(got))
			}
		}
	}
}

func hits(d *Document) []hit { return scanDocument(d, testClock) }

func TestExpiredTokenIsAWarning(t *testing.T) {
	for exp, want := range map[int64]Severity{testClock.Unix() - 1: Warn, testClock.Unix() + 1: Fail} {
		token := segment(map[string]string{"alg": "none"}) + "." + segment(map[string]int64{"exp": exp}) + "."
		if got := ParseText([]byte("# " + token)).Credentials(testClock); len(got) != 1 || got[0].Severity != want {
			t.Errorf("%d: %v", exp, got)
		}
	}
}

// Places that must hold none, and names that promise one (section 7 B).
func TestCredentialsByPlace(t *testing.T) {
	block := "Capability: c\n  Endpoint: https://shop.example/x\n  Protocol: REST\n"
	for _, row := range []struct{ body, want string }{
		{block + "  Auth: " + run(24) + "\n", "auth-value fail"},
		{block + "  Auth: bearer-token:" + run(24) + "\n", "auth-value fail"},
		{block + "  Auth: oauth2-client-credentials\n", ""},
		{block + "  Auth: OAuth2ClientCredentialsFlow\n", ""},
		{block + "  Auth: bearer-token (https://shop.example/v2/docs/auth2)\n", ""},
		{block + "  Method: " + run(20) + "\n", "closed-field fail"},
		{block + "  Method: GET,POST,PUT,DELETE,PATCH\n", ""},
		{block + "  Param: q (query, " + run(20) + ")\n", "closed-field fail"},
		{block + "  OpenAPI: https://shop.example/?key=" + run(16) + "\n", "url-parameter fail"},
		{block + "  OpenAPI: https://shop.example/?KEY=" + run(8) + "\n", "url-parameter warn"},
		{block + "  OpenAPI: https://shop.example/?key=" + run(7) + "\n", ""},
		{block + "  OpenAPI: https://shop.example/?key=%7Bapi_key1%7D\n", ""},
		{block + "  OpenAPI: https://shop.example/?monkey=" + run(20) + "\n", ""},
		{"# client secret = " + run(20) + "\n", "named-value fail"},
		{"# passwd: " + run(12) + ".\n", "named-value warn"},
		{"API-Key: " + run(20) + "\n", "named-value fail"},
		{"# the API key id: " + run(20) + "\n", ""},
		{"# public key: " + run(20) + "\n", ""},
		{"# password: " + run(3) + "\n", ""},
		{"# password: required\n", ""},
		{"# password: Required, see below\n", ""},
		{"# private-key: ~/.ssh/id_ed25519\n", ""},
		{"# api-key: 550e8400-e29b-41d4-a716-446655440000\n", ""},
		{"Capability: " + strings.ToLower(run(60)) + "\n", "entropy warn"},
		{"Capability: c\n  Param: " + run(40) + " (query, string)\n", "entropy warn"},
		{"Agent: " + hexWords[:48] + "\n", "entropy warn"},
		{"Agent: " + hexWords[:40] + "\n", ""},
		{"Capability: a-very-long-name-of-many-plain-words-indeed-2\n", ""},
		{"# in prose " + run(40) + " is no credential\n", ""},
	} {
		got := strings.Join(kinds(ParseText([]byte(head+row.body)).Credentials(testClock)), ", ")
		if got != row.want {
			t.Errorf("%q: %q, want %q", row.body, got, row.want)
		}
	}
}

// What was seen live and looks like a credential, but is none (section 7 C).
func TestNeverACredential(t *testing.T) {
	for _, line := range []string{
		`Authorization: Bearer kw_<key>`, `Bearer sat_...`, `(Prefix: sk_live_...)`, `keys start with sk_live_`,
		`"password": "$user.password"`, `"X-API-Key": "$steps.register.outputs.api_key"`,
		`AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AZURE_CLIENT_SECRET`, `export API_KEY=${SHOP_API_KEY}`, `api_key=YOUR_API_KEY_1`,
		"AKIA" + "IOSFODNN7EXAMPLE", "aws secret: wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
		"publicKey: " + hexWords, "treasury: 0x" + hexWords[:40], "bc1q" + strings.ToLower(run(34)), "commit " + hexWords[:40],
		"integrity: sha384-" + run(60), "ssh-ed25519 AAAA" + run(60) + " gull@shop", "did:key:z6Mk" + run(40),
		"*" + hexWords, "call +44 20 7946 0958", "secret: gull42@shop.example", "Bearer " + "550e8400-e29b-41d4-a716-446655440000",
		"Basic authentication-and-authorization", "token 2026-05-04T09:30:00Z", "password: ********", "password: xxxxxxxx1",
		"client-secret: changeme-now-1", "https://user:password@shop.example/", "https://{user}:{pass}@shop.example", "https://gull@shop.example",
		"-----BEGIN PUBLIC KEY-----", "?token=%s&lang=en", "?key=<your-key>1", "npm_package_config_registry_of_the_shop",
	} {
		if got := ParseText([]byte(head + "# " + line + "\n")).Credentials(testClock); len(got) != 0 {
			t.Errorf("%s: %v", line, kinds(got))
		}
		if got := ParseJSON([]byte(with(goodJSON, `"Find an item"`, quoteJSON(line)))).Credentials(testClock); len(got) != 0 {
			t.Errorf("in JSON, %s: %v", line, kinds(got))
		}
	}
}

// The description of a hit tells it again without giving it away.
func TestHitIsDescribed(t *testing.T) {
	token := "ghp" + "_" + run(36)
	rep := judgeBody(TextPath, head+"\n# "+token+"\n")
	i := slices.IndexFunc(rep.Checks, func(c Check) bool { return c.ID == "agents:credential" })
	if i < 0 {
		t.Fatal("not found")
	}
	c := rep.Checks[i]
	if c.Line != 5 || c.Column != 3 || !strings.HasPrefix(c.Detail, "github: ") || !strings.Contains(c.Detail, `begins with "ghp_", has 40 characters`) {
		t.Errorf("%+v", c)
	}
}

// Secrets are hidden wherever the report repeats the file: in the declaration,
// in differences, in addresses, whatever their case and length.
func TestMaskingReachesEverything(t *testing.T) {
	token := "ghp" + "_" + run(36)
	long := "glpat" + "-" + strings.Repeat(run(80), 8)
	body := head + "Field-" + token + ": x\nCapability: " + token + "\n  Endpoint: https://shop.example/" + long + "\n  Protocol: " + token +
		"\nDisallow: /" + token + "\nAgent: " + token + "\n  Capabilities: " + long + "\n"
	js := with(goodJSON, `"find-item"`, quoteJSON(long), `"*"`, quoteJSON(token))
	out, err := json.Marshal(auditSite(map[string]string{TextPath: body, JSONPath: js}, false))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{token, token[:12], long[:20], long[40:80]} {
		if strings.Contains(strings.ToLower(string(out)), strings.ToLower(secret)) {
			t.Errorf("%q is shown", secret)
		}
	}
	in := Input{Origin: "https://shop.example", Replies: []Reply{
		{URL: "https://shop.example" + TextPath, Status: 302, Header: map[string][]string{"Location": {"/x?access_token=" + run(24)}}},
		{URL: "https://shop.example/x?access_token=" + run(24), Status: 200, Body: []byte(goodText)},
	}}
	if out, err = json.Marshal(Judge(in)); err != nil || strings.Contains(string(out), run(24)) {
		t.Errorf("a signed address is shown (%v)", err)
	}
}

// What stands beside a credential and belongs to it is hidden as well.
func TestCompanionsAreHidden(t *testing.T) {
	key := "-----BEGIN " + "PRIVATE KEY-----"
	secret := "Pier4Sand0/Kelp5Tide8+Buoy3Dune6Reef1Cov"
	for _, body := range []string{
		head + key + "\n" + run(64) + "\n" + run(100)[36:] + "\n-----END PRIVATE KEY-----\n",
		head + "# " + key + "\n# " + run(64) + "\nNote: " + run(64) + "\n",
		head + "Site-Description: AKIA" + strings.ToUpper(run(16)) + " " + secret + "\nNote: " + secret + "\n",
	} {
		out, err := json.Marshal(judgeBody(TextPath, body))
		if err != nil {
			t.Fatal(err)
		}
		for _, hidden := range []string{run(64), run(100)[36:], secret} {
			if strings.Contains(body, hidden) && strings.Contains(string(out), hidden[8:20]) {
				t.Errorf("%q is shown of\n%s", hidden, body)
			}
		}
	}
	js := with(goodJSON, `"Find an item"`, quoteJSON(key+"\n"+run(64)+"\n"+run(100)[36:]))
	if out, err := json.Marshal(judgeBody(JSONPath, js)); err != nil || strings.Contains(string(out), run(64)[8:20]) || strings.Contains(string(out), run(100)[40:60]) {
		t.Errorf("a key is shown (%v)", err)
	}
	// A copy at the root that does not count is looked through all the same.
	rep := auditSite(map[string]string{TextPath: goodText, TextRootPath: goodText + "# " + key + "\n"}, false)
	if !hasCheck(rep, "agents:credential", Fail) || rep.Verdict != VerdictInvalid {
		t.Errorf("%v", ids(rep))
	}
}

// The default of a parameter may be any JSON; strings inside are masked too.
func TestDefaultsAreMasked(t *testing.T) {
	token := "ghp" + "_" + run(36)
	for _, value := range []string{`"` + token + `"`, `{"a": ["` + token + `", 1.50]}`, `{"` + token + `": null}`} {
		js := with(goodJSON, `"protocol"`, `"parameters": [{"name": "n", "in": "query", "type": "string", "default": `+value+`}], "protocol"`)
		out, err := json.Marshal(judgeBody(JSONPath, js).Declaration)
		if err != nil || strings.Contains(string(out), token) || !strings.Contains(string(out), "hidden") {
			t.Errorf("%s becomes %s (%v)", value, out, err)
		}
	}
}

func TestMasker(t *testing.T) {
	m := newMasker([]hit{{secret: "abcdefgh1"}, {secret: "abcdefgh1-and-more"}, {secret: strings.Repeat("Z9", 60)}, {secret: "abc"}})
	for in, want := range map[string]string{
		"x abcdefgh1 y":                          "x abc…[hidden] y",
		"ABCDEFGH1":                              "ABC…[hidden]",
		"abcdefgh1-and-more z":                   "abcd…[hidden] z",
		"abcdefgh":                               "abcdefgh",
		"abc":                                    "abc",
		"<" + strings.Repeat("Z9", 60) + ">":     "<Z9Z9…[hidden]",
		strings.Repeat("Z9", 40) + " " + "plain": "Z9Z9…[hidden] plain",
		"":                                       "",
		"äbcdefgh1":                              "äbcdefgh1",
		"abcdefgh1abcdefgh1":                     "abcd…[hidden]",
	} {
		if got := m.mask(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	var none *masker
	if none.mask("x") != "x" {
		t.Error("a nil masker changes text")
	}
}
