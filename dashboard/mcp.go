package dashboard

import (
	"context"
	"errors"
	"net/http"
	"time"

	"agentaudit/worker/mcp"
)

// mcpPath is where MCP clients find the tools.
const mcpPath = "/mcp"

// serveMCP serves the tools to programs. Where users sign in they need a token:
// the cookie of a browser opens nothing here.
func (s *Server) serveMCP(mux *http.ServeMux) error {
	if s.c.MCP == nil {
		return nil
	}
	tools, err := mcp.Handler(*s.c.MCP, mcp.Rates{}, func(r *http.Request) mcp.Caller {
		who, _ := r.Context().Value(whoKey{}).(Who)
		return mcp.Caller{ID: who.Token, Address: remoteAddress(r), Write: who.Write}
	})
	if err != nil {
		return err
	}
	mux.HandleFunc(mcpPath, func(w http.ResponseWriter, r *http.Request) {
		who, err := s.who(r)
		if err == nil && who.SignedIn {
			err = errSignIn
		}
		if err != nil {
			s.refuseMCP(w, r, err)
			return
		}
		// A call takes as long as a site does, and a stream as long as the
		// client stays; both end with the dashboard.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
		ctx, cancel := context.WithCancel(context.WithValue(r.Context(), whoKey{}, who))
		defer cancel()
		defer context.AfterFunc(s.ended, cancel)()
		tools.ServeHTTP(w, r.WithContext(ctx))
	})
	return nil
}

// refuseMCP answers programs that may not use the tools in plain words.
func (s *Server) refuseMCP(w http.ResponseWriter, r *http.Request, err error) {
	bad, known := errors.AsType[*HTTPError](err)
	if !known && !errors.Is(err, errSignIn) {
		s.c.Log.ErrorContext(r.Context(), "a call of a tool failed", "err", err)
		http.Error(w, "This could not be done; try again later.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	words := "Send a token as Authorization: Bearer TOKEN; tokens are made on the page of settings."
	if known {
		words = bad.Message + " " + bad.Advice
	}
	http.Error(w, words, http.StatusUnauthorized)
}
