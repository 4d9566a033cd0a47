package dashboard

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"agentaudit/audit/publication"
	"agentaudit/store"
)

// kitName is the file of a fix kit below its result.
const kitName = "fix-kit.zip"

func (s *Server) kit(w http.ResponseWriter, r *http.Request) error {
	if err := s.request(r).Only(); err != nil {
		return err
	}
	return s.writeKit(w, r, store.RunID(r.PathValue("run")))
}

// writeKit sends the files that mend a publication as an archive. It is made in
// memory, so that it is sent as a whole or not at all.
func (s *Server) writeKit(w http.ResponseWriter, r *http.Request, id store.RunID) error {
	run, err := s.c.Store.Run(r.Context(), id)
	if err != nil {
		return err
	}
	parts, err := s.c.Store.Parts(r.Context(), id)
	if err != nil {
		return err
	}
	k, err := publication.DecodeKit(parts.FixKit)
	if err != nil {
		return err
	}
	if k == nil {
		return notFound("This result has no fix kit: there is nothing that files could mend, or it is no longer kept.", nil)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range k.Folder() {
		part, err := z.CreateHeader(&zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: s.c.Now().UTC()})
		if err != nil {
			return err
		}
		if _, err := part.Write([]byte(f.Content)); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="fix-kit-%s.zip"`, fileWord(run.Host)))
	_, _ = w.Write(b.Bytes())
	return nil
}

// fileWord leaves of a host what is safe in the name of a file.
func fileWord(host string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' {
			return r
		}
		return '-'
	}, host)
}
