package docs

// fault is a kind of trouble that users of software like this have reported, in
// our words, and what is to happen in its place. Tests say which they show by a
// line "Faults: 9, 21." in the comment before them; one that no test shows is not
// on the page.
type fault struct {
	number  int
	what    string
	instead string
}

// faultGroup is a part of the page.
type faultGroup struct {
	title  string
	faults []fault
}

var faultGroups = []faultGroup{
	{"Who owns a run", []fault{
		{1, "A handler needs longer than its lock lives, and the next request runs beside it", "the lease is renewed while the handler runs"},
		{2, "Whoever was too slow removes, in its error path, the claim of whoever came after", "a claim is ended by its own nonce and fence only"},
		{3, "A result that comes late replaces the newer one", "the late owner's settle is stale: it changes nothing, and its own client is still answered"},
		{4, "A renewal that does not ask whose the claim is takes it back", "a renewal is a swap from what the owner wrote"},
		{5, "The handler works on although nothing could be renewed for minutes", "its context ends before the lease does"},
		{6, "One failed renewal ends the run, or a lost claim is shrugged off as a blip", "a failure is tried again until the deadline; a loss is told at once"},
		{7, "Somebody who tires of waiting takes the claim of the runner with him", "a waiter never writes"},
		{8, "A process dies between the claim and its expiry, and the key is taken for good", "value and time to live are one write"},
		{9, "The reply to a claim is lost, and its own claim is taken for another's", "the nonce is made once: a repeated claim knows itself"},
		{10, "Two take over one crashed record", "a take-over is a swap: one wins"},
		{11, "One machine's clock writes an expiry that another's reads", "the store alone judges what has run out"},
		{12, "A store that failed over has lost the claim, and all seems well", "what is found gone is written anew and counted; tokens from before are `forgotten`"},
	}},
	{"Keys that stay taken", []fault{
		{13, "A crash, a panic or a rare way of answering leaves the key in progress for days", "every exit settles, and what cannot is decided after its lease"},
		{14, "The key is taken for as long as its answer would have been kept", "a lease of seconds decides about a crash; the retention only keeps"},
		{15, "The client is gone, and the outcome is written on its cancelled context", "run and settle are cut loose from the connection"},
		{16, "A run that was stopped after the money had moved is released as if nothing had", "after a mark it is `uncertain`"},
		{17, "What runs is noted in one set whose members cannot run out, and stays noted when its process dies", "the entry of a claim goes with the claims that come after it, and the set runs out like a record"},
		{18, "Nobody can tell the record of a key that a customer complains about", "`idem.RecordName` computes it"},
	}},
	{"What became of it", []fault{
		{19, "A 500 of a bad minute is replayed all day", "what had no effect is released, and the key runs again"},
		{20, "A 500 that came after the effect is run again", "after a mark nothing is released"},
		{21, "The action succeeded, its record could not be written, and the client is told that it failed", "the client gets the real answer; the settle goes on behind it"},
		{22, "One error of the store takes the process down", "an error means unknown, and every caller takes it for that"},
		{23, "A refused repeat is kept in place of the first answer", "a refusal writes nothing"},
		{24, "Whoever was shut out between two attempts still gets the answer that was kept", "authorisation stands outside of the guard, and is asked each time"},
		{25, "The first run ends between somebody's claim and his look, and he is refused", "what is there decides: it is replayed"},
		{26, "A message is noted as seen before it is worked on; the work fails, and the redelivery is dropped", "an error releases, and the redelivery runs"},
		{27, "A handler that returns an error is kept as an empty 200", "the status that the framework will write is what settles"},
		{28, "Try later and please log in are kept, and replayed to who has done so", "they are released"},
	}},
	{"The second answer", []fault{
		{29, "The replayed 201 does not say where the new thing is", "headers are kept but for a named list"},
		{30, "Cookies and challenges of one exchange reach another", "they are on that list"},
		{31, "A length or transfer coding of the first connection spoils the second", "both belong to the connection and are made anew"},
		{32, "Bytes that are no text come back as other bytes", "a body is kept byte for byte"},
		{33, "A body that was kept compressed is sent to a client that cannot read it, or twice compressed", "it is kept plain, or offered only to who accepts its coding"},
		{34, "A stream is held back until its end, or not kept and run again", "it flows; the repeat is `used`"},
		{35, "An answer that is too long to be kept loses its protection", "the record stays, the repeat is `used`"},
		{36, "The wrapped writer can no longer flush or hand over its connection", "what the server's writer can do, ours can"},
		{37, "The date of the first answer is the date of every repeat", "a date is of its exchange"},
	}},
	{"The same request", []fault{
		{38, "Members in another order, or another space, are taken for another request", "JSON is compared by content"},
		{39, "Two long numbers become one on the way through floating point", "number literals are compared as written"},
		{40, "What stands behind the question mark plays no part", "the query is part of the fingerprint"},
		{41, "The boundary of an upload differs each time, and so does its fingerprint", "parts are compared, not the bytes between them"},
		{42, "Whoever reads the body for its hash leaves none for the handler", "a body is read once and given back whole"},
		{43, "A fingerprint of nothing makes every body the same", "method, path and body are framed, each with its length"},
		{44, "Another request under a running key hears that it is in progress", "`conflict` is said at once"},
		{45, "A release that computes fingerprints in another way turns every retry of the last hour away", "a fingerprint says its version, and the one before is still computed"},
	}},
	{"Whose key it is", []fault{
		{46, "A stranger with the same key gets the first one's answer", "the scope is part of the record's name"},
		{47, "All who are not signed in share one scope", "no scope is an error, at the start or for the request; sharing one has to be said"},
		{48, "A login that was renewed is another identity, and the action runs again", "the scope is who it is, not what it showed"},
		{49, "Two endpoints, or two things of one endpoint, answer for each other", "the operation is part of the name, the path of the fingerprint"},
		{50, "No key at all is hashed like a key, and everybody has it", "empty is `malformed`, absent is `missing` or unguarded"},
		{51, "Two people order the same, and one of them is refused as a repeat", "without a key of one's own nobody is a repeat"},
		{52, "In a cluster of stores one operation touches keys of two nodes", "one record is one key, and no call names two"},
	}},
	{"The store", []fault{
		{53, "One switch for all: salaries are paid twice, or comments cannot be written, while the store is away", "`onOutage` is a choice of each operation, and the answer says `unprotected`"},
		{54, "A store that does not answer hangs the request, or fails it after it has run", "every call has a limit; what ran is answered"},
		{55, "A crowd at one key asks the store as often as there are people", "those of one process look together"},
		{56, "What was kept stays for ever, or whoever clears it away stops everybody else", "a store forgets by itself; in memory each write clears a bounded piece"},
		{57, "A client retries after the key is forgotten, because nobody told it for how long", "`retain` comes with every token"},
		{58, "A time-out is taken for a failure, and money moves again", "preset Payment leaves in doubt what it cannot know"},
		{59, "The store drops claims when it runs short of memory", "a store that evicts is refused at the start"},
	}},
	{"Forms and browsers", []fault{
		{61, "After a mistake in a form its token is spent, and the corrected form fails", "a refusal releases: the same token, another body"},
		{62, "A double click shows an error although the first one worked, or stops the first half-way", "the first runs to its end, the second is given its answer"},
		{63, "Changed and sent again, the form shows the old result as if nothing had been changed", "`conflict`, in plain words"},
		{64, "The button is dead, and Enter sends the form again", "presses of one action join, by whatever they were made"},
		{65, "A client sends the repeat without its body", "it is another request: `conflict`"},
		{66, "A page on another host may not send the header, or not read the answer's", "the names that CORS needs are given, with a recipe"},
		{67, "A timer was to fetch a new token, and the tab slept", "a token's age is looked at when it is to be sent, and one that was sent is never replaced by a clock"},
		{68, "A second click waits in a queue and is sent when the first has succeeded", "a gesture from before the end joins or is dropped"},
		{69, "A proxy or a browser sends a POST again by itself", "it is the same token: one run"},
	}},
}
