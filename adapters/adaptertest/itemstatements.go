package adaptertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Items: many in one request, each by a key of its own.
var itemStatements = []statement{
	{name: "Statement34_EachItemHasItsOwnVerdict", play: func(s *scene) {
		n := s.server(NodeOptions{})
		first := s.post(n, "/batch/a").json(`{"items":[{"key":"1"},{"key":"2","status":422},{"key":"1"},{"key":"1","status":202},{"nokey":1},{"key":"a,b"}]}`).send()
		got := s.items(first)
		s.wantItems(got, "executed 201", "released 422", "executed 201", "conflict 422", "missing 400", "malformed 400")
		for _, item := range got[min(4, len(got)):] { // what is missing or malformed says where it was looked for
			if text := string(item.Body); !strings.Contains(text, "/items") || !strings.Contains(text, "/key") || strings.Contains(text, "header") {
				s.errorf("%s does not say where keys are looked for: %s", item.Verdict, text)
			}
		}
		if first.header.Get("Idempotency-Status") != "" {
			s.errorf("the answer of many says %q by itself", first.header.Get("Idempotency-Status"))
		}
		if len(got) > 3 && string(got[0].Body) != string(got[2].Body) {
			s.errorf("the same item twice answered %s and %s", got[0].Body, got[2].Body)
		}
		s.wantRuns("/batch/a#1", 1)
		s.wantRuns("/batch/a#2", 1)

		// Cut another way, what is done is replayed and what was released runs.
		again := s.items(s.post(n, "/batch/a").json(`{"items":[{"status":200,"key":"3"},{"key":"2","status":200},{"key":"1"}]}`).send())
		s.wantItems(again, "executed 200", "executed 200", "replayed 201")
		if len(got) > 0 && len(again) > 2 && string(again[2].Body) != string(got[0].Body) {
			s.errorf("replayed %s, kept was %s", again[2].Body, got[0].Body)
		}
		s.wantRuns("/batch/a#1", 1)
		s.wantItems(s.items(s.post(n, "/batch/a").as("another").json(`{"items":[{"key":"1"}]}`).send()), "executed 201")
		s.wantItems(s.items(s.post(n, "/batch/a").json(`{"items":[]}`).send()))
	}},

	{name: "Statement34_OneExchangeForAllItems", play: func(s *scene) {
		n := s.server(NodeOptions{})
		list := make([]string, 100)
		for i := range list {
			list[i] = fmt.Sprintf(`{"key":"k%d"}`, i)
		}
		body := `{"items":[` + strings.Join(list, ",") + `]}`
		before := s.seen(n)
		got := s.items(s.post(n, "/batch/many").json(body).send())
		after := s.seen(n)
		if len(got) != 100 || got[99].Verdict != "executed" {
			s.fatalf("%d items, the last %+v", len(got), got[max(0, len(got)-1)])
		}
		if trips := after.Trips - before.Trips; trips != 2 {
			s.errorf("100 items took %d exchanges with the store, want one to claim and one to settle", trips)
		}
		if again := s.items(s.post(n, "/batch/many").json(body).send()); len(again) != 100 || again[0].Verdict != "replayed" || string(again[42].Body) != string(got[42].Body) {
			s.errorf("sent again, the first item is %+v", again[0])
		}
	}},

	{name: "Statement34_AllItemsOrNone", play: func(s *scene) {
		n := s.server(NodeOptions{})
		all := s.post(n, "/allbatch/x").json(`{"items":[{"key":"1"},{"key":"2"}]}`).send()
		s.wantItems(s.items(all), "executed 201", "executed 201")
		s.wantItems(s.items(s.post(n, "/allbatch/x").json(`{"items":[{"key":"2"},{"key":"1"}]}`).send()), "replayed 201", "replayed 201")

		refused := s.post(n, "/allbatch/x").json(`{"items":[{"key":"3"},{"key":"4"},{"key":"2","status":202}]}`).send()
		s.wantInTheWay(refused, 2, "conflict")
		s.wantInTheWay(s.post(n, "/allbatch/x").json(`{"items":[{"key":"3"},{"key":"1"},{"key":"4"}]}`).send(), 1, "replayed")
		s.wantInTheWay(s.post(n, "/allbatch/x").json(`{"items":[{"key":"3"},{}]}`).send(), 1, "missing")
		s.wantRuns("/allbatch/x#3", 0)
		// Nothing is left held: both run at once, with other content too.
		s.wantItems(s.items(s.post(n, "/allbatch/x").json(`{"items":[{"key":"3","status":200},{"key":"4","status":200}]}`).send()), "executed 200", "executed 200")
		s.wantRuns("/allbatch/x#3", 1)
	}},

	{name: "Statement34_ItemsByToken", play: func(s *scene) {
		n := s.server(NodeOptions{})
		one, two := s.issue(n, "alice", "test:tokenbatch:run", ""), s.issue(n, "alice", "test:tokenbatch:run", "")
		foreign := s.issue(n, "bob", "test:tokenbatch:run", "")
		body := fmt.Sprintf(`{"items":[{"key":%q},{"idempotentToken":%q},{"key":%q},{"key":"short"}]}`, one, two, foreign)
		s.wantItems(s.items(s.post(n, "/tokenbatch/t").as("alice").json(body).send()), "executed 201", "executed 201", "foreign 403", "malformed 400")
		s.wantItems(s.items(s.post(n, "/tokenbatch/t").as("alice").json(body).send()), "replayed 201", "replayed 201", "foreign 403", "malformed 400")
	}},

	{name: "Statement34_WhatHoldsNoItemsIsRefusedWhole", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for _, body := range []string{`{}`, `{"items":7}`, `{"items":[{"key":"1"}`, `{"items":[],"items":[]}`, `[]`} {
			s.wantProblem(s.post(n, "/batch/w").json(body).send(), "malformed", http.StatusBadRequest)
		}
		panicked := s.post(n, "/batch/w").json(`{"items":[{"key":"1"},{"key":"2","panic":"on purpose"}]}`).send()
		if panicked.status != http.StatusInternalServerError || !strings.Contains(string(panicked.body), "on purpose") {
			s.errorf("a panic was answered %d %q", panicked.status, panicked.body)
		}
		s.wantItems(s.items(s.post(n, "/batch/w").json(`{"items":[{"key":"1"},{"key":"2"}]}`).send()), "executed 201", "executed 201")
	}},
}

// itemTold is one item of an answer.
type itemTold struct {
	Verdict string          `json:"verdict"`
	Status  int             `json:"status"`
	Body    json.RawMessage `json:"body"`
}

func (s *scene) items(a answer) []itemTold {
	var told struct {
		Items []itemTold `json:"items"`
	}
	if a.status != http.StatusOK {
		s.fatalf("answered %d %s, want 200 and items", a.status, a.body)
	}
	s.read(a, &told)
	return told.Items
}

func (s *scene) wantItems(got []itemTold, want ...string) {
	list := make([]string, len(got))
	for i, item := range got {
		list[i] = fmt.Sprint(item.Verdict, " ", item.Status)
	}
	if strings.Join(list, ", ") != strings.Join(want, ", ") {
		s.errorf("items are %v, want %v", list, want)
	}
}

// wantInTheWay says that all items were refused for the sake of one.
func (s *scene) wantInTheWay(a answer, item int, verdict string) {
	var told struct {
		Verdict string `json:"verdict"`
		Item    int    `json:"item"`
		Status  int    `json:"status"`
	}
	s.read(a, &told)
	if a.status != http.StatusConflict || told.Status != a.status || told.Item != item || told.Verdict != verdict {
		s.errorf("answered %d %s, want 409 naming item %d as %s", a.status, a.body, item, verdict)
	}
}
