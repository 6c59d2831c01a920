package idem

// claimSet holds claims by name. A shard of running claims seldom holds more than
// a few, and those stand side by side, where one is found by comparing names: a
// map would hash a name three times for each request.
type claimSet struct {
	few  [4]namedClaim
	more map[string]*Claim
}

type namedClaim struct {
	name string
	c    *Claim // nil: the place is free
}

// at returns the claim of that name, nil where there is none.
func (s *claimSet) at(name string) *Claim {
	for i := range s.few {
		if s.few[i].c != nil && s.few[i].name == name {
			return s.few[i].c
		}
	}
	if len(s.more) == 0 {
		return nil
	}
	return s.more[name]
}

// put makes c the claim of that name.
func (s *claimSet) put(name string, c *Claim) {
	free := -1
	for i := range s.few {
		switch {
		case s.few[i].c == nil:
			free = i
		case s.few[i].name == name:
			s.few[i].c = c
			return
		}
	}
	if _, there := s.more[name]; !there && free >= 0 {
		s.few[free] = namedClaim{name, c}
		return
	}
	if s.more == nil {
		s.more = make(map[string]*Claim)
	}
	s.more[name] = c
}

// remove takes c out of the place of that name, unless another holds it.
func (s *claimSet) remove(name string, c *Claim) {
	for i := range s.few {
		if s.few[i].c == c && s.few[i].name == name {
			s.few[i] = namedClaim{}
			return
		}
	}
	if len(s.more) > 0 && s.more[name] == c {
		delete(s.more, name)
	}
}

// all calls do for each of them.
func (s *claimSet) all(do func(*Claim)) {
	for i := range s.few {
		if s.few[i].c != nil {
			do(s.few[i].c)
		}
	}
	for _, c := range s.more {
		do(c)
	}
}
