package idem

// The steps of those who take part in the models of the janitor: request A that
// does not learn whether it has claimed, the janitor, and request B.

// asksA: A hears nothing, asks again with the same bytes, and gives up.
func (m *janitorModel) asksA(s janitorState, step func(string, janitorState)) {
	if s.job.phase != jobNone {
		return
	}
	if s.asks < askTries {
		to := s
		to.asks++
		to.wire.send(modelPacket{m.meant, m.claim, false})
		step("A asks again", to)
	}
	s.job.phase = jobOpen
	step("A answers unavailable, its claim goes to the janitor", s)
}

// janitor does as writeOver does, and as the sweep does around it.
func (m *janitorModel) janitor(s janitorState, step func(string, janitorState)) {
	j := &s.job
	switch j.phase {
	case jobOpen:
		j.swaps = 0
		f, what := found{}, "the janitor begins"
		if m.meant != 0 || m.looks {
			f = m.found(s.cell.value, modelRetention)
			what = "the janitor finds " + m.words[s.cell.value]
		}
		m.mends(&s, f)
		step(what, s)
	case jobOut:
		if j.fails < janitorFails {
			to := s
			to.job.fails++
			to.job.call.giveUp(&to.wire)
			to.job.call = modelCall{}
			to.job.phase = jobOpen
			if m.resigned {
				to.job.phase = jobDone
			}
			step("the janitor hears nothing", to)
		}
		if j.call.reply != replyPending {
			m.hears(s, step)
		}
	}
}

// hears takes the answer to a write of the janitor's.
func (m *janitorModel) hears(s janitorState, step func(string, janitorState)) {
	told, wrote := s.job.call.told, s.job.call.value
	done, f := s.job.call.hear(m.modelValues)
	switch {
	case done || told == wrote || m.deaf:
		s.job.phase, s.job.call = jobDone, modelCall{}
		step("the janitor hears that it is done", s)
	default:
		m.mends(&s, f)
		step("the janitor hears that "+m.words[told]+" is there", s)
	}
}

// mends writes what core's mend says, if there is anything to write.
func (m *janitorModel) mends(s *janitorState, f found) {
	what, value := mend(m.mine, m.bytes[m.meant], f)
	switch {
	case m.looks && !f.rec.isOf(m.mine.owner, m.mine.fence):
		what = mendDone
	case m.forceful && f.value != nil && f.rec.state != StateReleased:
		what, value = mendSwap, m.mine
		value.state = StateReleased
	}
	j := &s.job
	switch {
	case what == mendDone:
		j.phase, j.call = jobDone, modelCall{}
		return
	case j.swaps == maxSwaps:
		j.phase, j.call = jobOpen, modelCall{}
		return
	}
	old := valueID(0)
	if what == mendSwap {
		old = m.id(f.value)
	}
	j.swaps++
	j.phase, j.call = jobOut, modelCall{value: m.of(value)}
	j.call.send(&s.wire, old)
}

// requestB is a repeat, with a nonce of its own, over a wire that is well again.
func (m *janitorModel) requestB(s janitorState, step func(string, janitorState)) {
	switch s.b {
	case requestNone:
		left := modelRetention
		if s.lapsed {
			left -= janitorLease * modelTick
		}
		f := m.found(s.cell.value, left)
		claim := modelRecord('B', StateProcessing, fenceOfB, janitorLease*modelTick)
		switch st, _ := judgeOf(modelAsker(m.retake), f); st {
		case stepTake:
			claim = taken(f, claim)
		case stepCreate:
		default:
			return
		}
		what := "B claims over " + m.words[s.cell.value]
		s.claimB, s.b = m.of(claim), requestRuns
		s.put(modelPacket{old: s.cell.value, value: s.claimB})
		step(what, s)
	case requestRuns:
		m.endsB(s, requestSettled, StateSucceeded, step)
		m.endsB(s, requestReleased, StateReleased, step)
	}
}

func (m *janitorModel) endsB(s janitorState, how requestPhase, state State, step func(string, janitorState)) {
	outcome := m.rec(s.claimB)
	outcome.state = state
	outcome.counter++
	p := modelPacket{old: s.claimB, value: m.of(outcome)}
	s.b, s.claimB = how, p.value
	s.put(p)
	step("B ends as "+state.String(), s)
}
