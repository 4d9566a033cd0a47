package dashboard

import (
	"time"

	"agentaudit/queue"
	"agentaudit/store"
)

// apiHealth is how queue and workers are, as the overview tells it.
type apiHealth struct {
	// StoreMs and the queue's Ms are how long the answers took, in milliseconds.
	StoreMs int64 `json:"storeMs"`
	// Queued counts sites that are handed to the queue, by class.
	Queued       map[store.Class]int64 `json:"queued"`
	WaitingSince time.Time             `json:"waitingSince,omitzero"`
	LastResult   time.Time             `json:"lastResult,omitzero"`
	// Queue is missing where this dashboard has none to ask, Workers also where it
	// does not answer.
	Queue     *apiQueue    `json:"queue,omitempty"`
	Workers   *apiWorkers  `json:"workers,omitempty"`
	Schedules apiSchedules `json:"schedules"`
	// Trouble says in sentences what needs a look.
	Trouble []string `json:"trouble"`
}

type apiQueue struct {
	// Kind is embedded or redis.
	Kind    string                     `json:"kind"`
	Answers bool                       `json:"answers"`
	Ms      int64                      `json:"ms"`
	Tasks   map[queue.Class]apiInQueue `json:"tasks"`
}

type apiInQueue struct {
	Pending   int64 `json:"pending"`
	Active    int64 `json:"active"`
	Scheduled int64 `json:"scheduled"`
	Retry     int64 `json:"retry"`
}

type apiWorkers struct {
	Alive int64 `json:"alive"`
	// Places is how many sites they audit at once.
	Places   int64     `json:"places"`
	LastSeen time.Time `json:"lastSeen,omitzero"`
	// Silent counts workers that gave no sign of life for too long.
	Silent      int64     `json:"silent"`
	SilentSince time.Time `json:"silentSince,omitzero"`
}

type apiSchedules struct {
	Next   []apiNext `json:"next"`
	Late   int64     `json:"late"`
	Paused int64     `json:"paused"`
}

type apiNext struct {
	ID     store.ScheduleID `json:"id"`
	Name   string           `json:"name"`
	NextAt time.Time        `json:"nextAt"`
	Late   bool             `json:"late"`
}

func healthOf(h *Health) apiHealth {
	a := apiHealth{
		StoreMs: h.Answered.Milliseconds(), Queued: map[store.Class]int64{}, WaitingSince: h.WaitingSince, LastResult: h.LastResult,
		Schedules: apiSchedules{Next: []apiNext{}, Late: h.Late, Paused: h.Resting}, Trouble: words(h.trouble()),
	}
	for _, c := range []store.Class{store.ClassSmall, store.ClassBulk} {
		a.Queued[c] = h.Load.Enqueued[c]
	}
	for _, s := range h.Next {
		a.Schedules.Next = append(a.Schedules.Next, apiNext{s.ID, s.Name, s.NextAt, s.Overdue})
	}
	q := h.Queue
	if q == nil {
		return a
	}
	a.Queue = &apiQueue{Kind: "redis", Answers: !q.Down, Ms: q.Answered.Milliseconds(), Tasks: map[queue.Class]apiInQueue{}}
	if q.Embedded {
		a.Queue.Kind = "embedded"
	}
	for c, d := range q.Depths {
		a.Queue.Tasks[c] = apiInQueue(d)
	}
	if !q.Down {
		a.Workers = &apiWorkers{q.Alive, q.Places, q.Heard, q.Silent, q.SilentSince}
	}
	return a
}
