package dashboard

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"time"
)

//go:embed static
var staticFiles embed.FS

// assets serves our own files under names that change with their content, so
// that browsers may keep them for ever.
type assets struct {
	hash  string
	files map[string][]byte
}

var assetTypes = map[string]string{
	"style.css": "text/css; charset=utf-8",
	"live.js":   "text/javascript; charset=utf-8",
	"icon.svg":  "image/svg+xml",
}

func newAssets() (*assets, error) {
	a := &assets{files: map[string][]byte{}}
	sum := sha256.New()
	for _, name := range []string{"icon.svg", "live.js", "style.css"} {
		data, err := fs.ReadFile(staticFiles, "static/"+name)
		if err != nil {
			return nil, err
		}
		a.files[name] = data
		sum.Write(data)
	}
	a.hash = hex.EncodeToString(sum.Sum(nil)[:6])
	return a, nil
}

// path is the address of a file, below the base path.
func (a *assets) path(name string) string { return "/static/" + a.hash + "/" + name }

func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	data, ok := a.files[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	// A page of an older version asks for an older hash: it gets today's file,
	// but must not keep it under that name.
	if r.PathValue("hash") == a.hash {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		w.Header().Set("Cache-Control", "no-store")
	}
	w.Header().Set("Content-Type", assetTypes[name])
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}
