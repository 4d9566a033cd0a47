package dashboard

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// apiSchemas are the schemas and parameters of the API: an object with the
// members "schemas" and "parameters".
//
//go:embed api_schemas.json
var apiSchemas []byte

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

type object map[string]any

// describeAPI writes the OpenAPI 3.1 document out of the table of endpoints.
func describeAPI(base, version string, signIn bool) ([]byte, error) {
	var parts struct {
		Schemas    map[string]json.RawMessage `json:"schemas"`
		Parameters map[string]json.RawMessage `json:"parameters"`
	}
	if err := json.Unmarshal(apiSchemas, &parts); err != nil {
		return nil, fmt.Errorf("dashboard: the schemas of the API: %w", err)
	}
	if version == "" {
		version = "unknown"
	}
	ref := func(kind, name string) object { return object{"$ref": "#/components/" + kind + "/" + name} }
	content := func(mediaType, schema string) object {
		return object{mediaType: object{"schema": ref("schemas", schema)}}
	}
	paths := map[string]object{}
	for _, e := range endpoints {
		var parameters []object
		names := append([]string(nil), e.query...)
		for _, m := range pathParam.FindAllStringSubmatch(e.path, -1) {
			names = append(names, "path-"+m[1])
		}
		if e.method == "POST" {
			names = append(names, "Idempotency-Key")
		}
		for i, n := range names {
			// A parameter means something else in some lists.
			if own := e.path[strings.LastIndex(e.path, "/")+1:] + "-" + n; parts.Parameters[own] != nil {
				n, names[i] = own, own
			}
			if _, ok := parts.Parameters[n]; !ok {
				return nil, fmt.Errorf("dashboard: %s %s has a parameter %s that api_schemas.json does not describe", e.method, e.path, n)
			}
			parameters = append(parameters, ref("parameters", n))
		}
		good := object{"description": "Done."}
		if e.answer != "" {
			if _, ok := parts.Schemas[e.answer]; !ok {
				return nil, fmt.Errorf("dashboard: %s %s has an answer %s that api_schemas.json does not describe", e.method, e.path, e.answer)
			}
			good["content"] = content("application/json", e.answer)
		}
		if e.file != "" {
			good["content"] = object{e.file: object{"schema": object{"type": "string"}}}
		}
		op := object{"operationId": operationID(e), "summary": e.summary, "responses": object{
			fmt.Sprint(e.status): good,
			"default":            object{"description": "What is wrong, and what to do (RFC 9457).", "content": content("application/problem+json", "Problem")},
		}}
		if parameters != nil {
			op["parameters"] = parameters
		}
		if e.body != "" {
			bodies := content("application/json", e.body)
			if e.path == "/batches" {
				for _, t := range listTypes {
					bodies[t.name] = object{"schema": object{"type": "string"}}
				}
			}
			op["requestBody"] = object{"required": true, "content": bodies}
		}
		if paths[apiPath+e.path] == nil {
			paths[apiPath+e.path] = object{}
		}
		paths[apiPath+e.path][strings.ToLower(e.method)] = op
	}
	// Who has to sign in needs a token; elsewhere nobody does.
	security := []object{{"token": []string{}}}
	if !signIn {
		security = append(security, object{})
	}
	server := base
	if server == "" {
		server = "/"
	}
	return json.Marshal(object{
		"openapi": "3.1.0",
		"info": object{"title": "agentaudit", "version": version,
			"description": "Everything that the dashboard does. Filters have the words of its pages, lists come in pages by cursor, errors are problems as in RFC 9457. " +
				"With sign-in, programs send a token that is made on the page of settings."},
		"servers":  []object{{"url": server}},
		"security": security,
		"paths":    paths,
		"components": object{"schemas": parts.Schemas, "parameters": parts.Parameters,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}}},
	})
}

// operationID is as in getBatchesResults: the method with the words of the path.
func operationID(e endpoint) string {
	id := strings.ToLower(e.method)
	for _, w := range strings.FieldsFunc(e.path, func(r rune) bool { return r == '/' || r == '-' || r == '.' || r == '{' || r == '}' }) {
		id += strings.ToUpper(w[:1]) + w[1:]
	}
	return id
}
