/*
 * One record, two owners who want it, and the store between them, in every
 * order of events: a claim, its renewals, its settle, its take-over under
 * Retake, and the janitor of a claim of unknown outcome. The design is PROTOCOL
 * P1-P3, P5, P8 and section 9; what must hold is section 10.
 *
 * It is a second opinion. The models in core/model_*_test.go call the code of
 * the library itself; this one is drawn by hand from the design, and another
 * program looks through it.
 *
 * A wire delays what it carries, in any order, and loses: a request that never
 * arrives is lost, and so is a reply whose caller has given up. A copy that was
 * given up may arrive all the same. Who may lapse is judged by the store's time;
 * an owner reckons its own deadline by the same ticks, from the moment before a
 * value was first sent.
 *
 * BROKEN leaves one rule out: 1 literal swap, 2 deadline from the reply, 3 no
 * fence, 4 a janitor that looks.
 */

#ifndef BROKEN
#define BROKEN 0
#endif
#define LITERAL_SWAP        (BROKEN == 1)
#define DEADLINE_FROM_REPLY (BROKEN == 2)
#define NO_FENCE            (BROKEN == 3)
#define JANITOR_LOOKS       (BROKEN == 4)

/* Ticks. The clock stands still after two leases: nothing new comes of a third. */
#define LEASE  3
#define MARGIN 1
#define END    6

#define SENDS  2 /* of a claim, of a renewal, of a settle */
#define WRITES ((1 - me) * 2) /* renewals and marks; the second owner is there to take over */
#define SLOTS  3 /* copies of one owner's that are on their way at once */

/* A value is a byte: state, owner, fence, counter. 0 is nothing. */
#define PROCESSING 1
#define SUCCEEDED  2
#define RELEASED   3
#define value(s, o, f, c) ((s) << 6 | (o) << 5 | (f) << 2 | (c))
#define state(v)   ((v) >> 6)
#define owner(v)   ((v) >> 5 & 1)
#define fence(v)   ((v) >> 2 & 7)
#define counter(v) ((v) & 3)

#define isOf(v, o, f) (state(v) == PROCESSING && owner(v) == (o) && fence(v) == (f))
#define lapsed(v)     (state(v) == PROCESSING && now - since >= LEASE)

byte now, cell, since;

/* What an owner is about, for all to see. */
#define ASKING 0
#define LIVE   1 /* its handler runs under a context that has not ended */
#define LOST   2 /* its context has ended; the handler may still return */
#define OVER   3
byte phase[2];
byte deadline[2];

/* The wire: what is on its way to the store, and one answer back to each. */
typedef Packet { bit there; bit awaited; byte old; byte new };
Packet wire[6];
#define PENDING 0
#define YES     1
#define NO      2
byte answer[2], told[2];

/* The janitor of an owner whose claim cannot come back has ended its work. */
bit mended[2];

/* What the assertions are about, in their own words. */
bit ownRecordToldStale, fenceDidNotGrow, outcomeWrittenOver, claimAfterTheJanitor;

/* I1: never two live owners of one record. */
#define twoLiveOwners (phase[0] == LIVE && phase[1] == LIVE)
never {
	do
	:: twoLiveOwners -> break
	:: !twoLiveOwners
	od
}

/* A tick. Owners look at their deadlines first, as each tick of a claim does. */
active proctype Clock() {
	do
	:: d_step {
		now < END && (state(cell) != SUCCEEDED || phase[0] == LIVE || phase[1] == LIVE) ->
		now++;
		if :: phase[0] == LIVE && now >= deadline[0] -> phase[0] = LOST :: else fi;
		if :: phase[1] == LIVE && now >= deadline[1] -> phase[1] = LOST :: else fi
	   }
	:: atomic { now == END -> break }
	od
}

inline drop(i) {
	wire[i].there = 0; wire[i].awaited = 0; wire[i].old = 0; wire[i].new = 0
}

/* What was there and is gone never comes back, as fences and counters grow: a
 * copy that nobody waits for and that was to replace it can change nothing. */
inline forgo(i) {
	if
	:: wire[i].there && !wire[i].awaited && wire[i].old != cell -> drop(i)
	:: else
	fi
}

/* Create (old is 0) or Swap, each one step. A value that is there already is the
 * caller's own retry: done, and its time stays. A Create's retry is told. */
inline arrive(i) {
	d_step {
		wire[i].there ->
		done = NO;
		if
		:: cell == wire[i].old ->
			if
			:: cell == 0
			:: cell != 0 && owner(cell) == owner(wire[i].new) ->
				fenceDidNotGrow = fence(wire[i].new) < fence(cell)
			:: cell != 0 && owner(cell) != owner(wire[i].new) ->
				fenceDidNotGrow = fence(wire[i].new) <= fence(cell)
			fi;
			outcomeWrittenOver = state(cell) == SUCCEEDED;
			claimAfterTheJanitor = state(wire[i].new) == PROCESSING && mended[i / SLOTS];
			cell = wire[i].new;
			since = (state(cell) == PROCESSING -> now : 0);
			done = YES
		:: cell != wire[i].old && cell == wire[i].new && wire[i].old != 0 -> done = YES
		:: else
		fi;
		if
		:: wire[i].awaited -> answer[i / SLOTS] = done; told[i / SLOTS] = cell
		:: else
		fi;
		drop(i);
		done = 0;
		forgo(0); forgo(1); forgo(2); forgo(3); forgo(4); forgo(5)
	}
}

active proctype Store() {
	byte done;
end:	do
	:: arrive(0)
	:: arrive(1)
	:: arrive(2)
	:: arrive(3)
	:: arrive(4)
	:: arrive(5)
	od
}

inline put(i, from, to) {
	wire[i].there = 1; wire[i].awaited = 1; wire[i].old = from; wire[i].new = to
}

/* A call leaves; it waits while the wire is full. */
inline send(from, to) {
	d_step {
		(!wire[me * SLOTS].there || !wire[me * SLOTS + 1].there || !wire[me * SLOTS + 2].there) ->
		answer[me] = PENDING; told[me] = 0;
		if
		:: !wire[me * SLOTS].there -> put(me * SLOTS, from, to)
		:: wire[me * SLOTS].there && !wire[me * SLOTS + 1].there -> put(me * SLOTS + 1, from, to)
		:: else -> put(me * SLOTS + 2, from, to)
		fi
	}
}

/* The caller hears no more of it, wherever it is. */
inline giveUp() {
	d_step {
		wire[me * SLOTS].awaited = 0;
		wire[me * SLOTS + 1].awaited = 0;
		wire[me * SLOTS + 2].awaited = 0;
		forgo(me * SLOTS); forgo(me * SLOTS + 1); forgo(me * SLOTS + 2);
		answer[me] = PENDING; told[me] = 0
	}
}

inline forget() { answer[me] = PENDING; told[me] = 0 }

/* P2: another counter is still ours. */
#define ours(v)   isOf(v, me, myFence)
#define again     (answer[me] == NO && ours(told[me]) && !LITERAL_SWAP)
#define anothers  (answer[me] == NO && (!ours(told[me]) || LITERAL_SWAP))
#define fresh(at) ((DEADLINE_FROM_REPLY -> now : at) + LEASE - MARGIN)

/* A request: looks, claims, runs, settles; or hands its claim to its janitor.
 * Its own clock, from which its fence is made, is behind in the second: only what
 * it found raises that. */
proctype Owner(byte me) {
	byte seen, mine, myFence, known, aim, sends;
	byte sent[3]; /* when the value of that counter was first sent */
	byte last;    /* the highest counter used */
	bit out;      /* a call is waited for */

look:	atomic {
		state(cell) == RELEASED || cell == 0 || lapsed(cell) || state(cell) == SUCCEEDED ->
		if
		:: state(cell) == SUCCEEDED -> goto over /* replayed */
		:: else
		fi;
		seen = cell;
		myFence = (me == 0 -> 2 : 1);
		if
		:: seen != 0 && !NO_FENCE && myFence <= fence(seen) -> myFence = fence(seen) + 1
		:: else
		fi;
		mine = value(PROCESSING, me, myFence, 0);
		sent[0] = now;
		sends = 1
	};
	send(seen, mine);
	do
	:: atomic { answer[me] == YES -> known = mine; forget(); break }
	:: atomic { answer[me] == NO && ours(told[me]) -> known = told[me]; forget(); break } /* P3 */
	:: atomic { answer[me] == NO && !ours(told[me]) -> forget(); seen = 0; goto look }
	:: atomic { answer[me] == PENDING && sends < SENDS -> giveUp(); sends++ }; send(seen, mine)
	:: atomic { answer[me] == PENDING && sends == SENDS -> giveUp(); goto mend }
	od;
	atomic {
		deadline[me] = fresh(sent[0]);
		if
		:: now >= deadline[me] -> goto mend /* I11: won too late to be started */
		:: else -> phase[me] = LIVE
		fi;
		sends = 0; seen = 0; mine = 0
	};

	do
	/* The keeper renews; after silence with the same bytes. A mark renews as well,
	 * and does not wait until the fate of a renewal is known. */
	:: atomic { phase[me] == LIVE && !out && last < WRITES ->
		last++; aim = value(PROCESSING, me, myFence, last); sent[last] = now; sends = 1; out = 1 };
	   send(known, aim)
	:: atomic { phase[me] == LIVE && !out && aim != 0 && sends < SENDS -> sends++; out = 1 };
	   send(known, aim)
	:: atomic { out && answer[me] == PENDING -> giveUp(); out = 0 }
	:: atomic { out && answer[me] == YES ->
		known = aim; aim = 0; out = 0; sends = 0; forget();
		if
		:: phase[me] == LIVE -> deadline[me] = fresh(sent[last])
		:: else /* such an owner never revives */
		fi }
	:: atomic { out && again -> /* its deadline is that of the value it was told of */
		known = told[me]; forget();
		if
		:: phase[me] == LIVE -> deadline[me] = fresh(sent[counter(known)])
		:: else
		fi };
	   send(known, aim)
	:: atomic { out && anothers ->
		ownRecordToldStale = ours(told[me]); forget();
		assert(!ownRecordToldStale); /* P2 */
		out = 0; phase[me] = LOST }
	/* The handler returns. */
	:: atomic { phase[me] == LIVE || phase[me] == LOST -> giveUp(); out = 0; break }
	od;
	atomic {
		phase[me] = OVER;
		deadline[me] = 0; sent[0] = 0; sent[1] = 0; sent[2] = 0;
		last++;
		aim = value(SUCCEEDED, me, myFence, last);
		sends = 1
	};
	send(known, aim);
	do
	:: atomic { answer[me] == YES -> forget(); break }
	:: atomic { again -> known = told[me]; forget() }; send(known, aim)
	:: atomic { anothers ->
		ownRecordToldStale = ours(told[me]); forget();
		assert(!ownRecordToldStale); /* P2 */
		break }
	:: atomic { answer[me] == PENDING && sends < SENDS -> giveUp(); sends++ }; send(known, aim)
	od;
	goto over;

	/* The janitor writes, it does not look, so that a copy of the claim that is
	 * still on its way finds the place taken. It knows what it is to find only
	 * where there was something to be swapped from. */
mend:	atomic {
		phase[me] = OVER;
		deadline[me] = 0;
		sends = 1;
		known = (seen != 0 || JANITOR_LOOKS -> cell : 0)
	};
	do
	:: atomic {
		if
		:: known == 0 && seen == 0 && !JANITOR_LOOKS -> aim = value(RELEASED, me, myFence, 1)
		:: known != 0 && ours(known) -> aim = value(RELEASED, me, myFence, counter(known) + 1)
		:: state(known) == RELEASED && known == seen && !JANITOR_LOOKS -> aim = known + 1
		:: else -> mended[me] = state(seen) != PROCESSING; goto over
		fi };
	   send(known, aim);
	   do
	   :: atomic { answer[me] == YES -> forget(); mended[me] = state(seen) != PROCESSING; goto over }
	   :: atomic { answer[me] == NO && told[me] == aim -> forget(); mended[me] = state(seen) != PROCESSING; goto over }
	   :: atomic { answer[me] == NO && told[me] != aim -> known = told[me]; forget(); break }
	   :: atomic { answer[me] == PENDING && sends < SENDS -> giveUp(); sends++ }; send(known, aim)
	   od
	od;

over:	atomic {
		phase[me] = OVER;
		seen = 0; mine = 0; myFence = 0; known = 0; aim = 0; sends = 0; last = 0; sent[0] = 0; sent[1] = 0; sent[2] = 0
	}
}

init { atomic { run Owner(0); run Owner(1) } }

/* Held at every moment: a monitor that may look whenever it likes. */
active proctype Held() {
end:	atomic {
		fenceDidNotGrow || outcomeWrittenOver || claimAfterTheJanitor ->
		assert(!fenceDidNotGrow);      /* I2 */
		assert(!outcomeWrittenOver);   /* I3 */
		assert(!claimAfterTheJanitor)  /* I13 */
	}
}
