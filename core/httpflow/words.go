package httpflow

import idem "github.com/go-idem/idem/core"

// words are what people read about a refusal: a stable title, what a developer
// should do, and what a person in front of a page should do. None of them
// depends on the request, so none can give anything of it away.
type words struct {
	status int
	title  string
	detail string
	page   string
}

// refusals are the words of every verdict that refuses, with the status of the
// profile standard (design: PROTOCOL section 4).
var refusals = [idem.Unguarded + 1]words{
	idem.InFlight: {409, "This action is being carried out right now",
		"The first request with this key or token is still running. Send the same request again, unchanged, after the time in Retry-After. Do not take a new key or token: that would run the action a second time.",
		"Your first click is still being worked on. Wait a moment, then reload this page; if your browser asks whether to send the form again, say yes. It will not be done twice."},
	idem.Uncertain: {409, "Nobody can tell yet whether this action was carried out",
		"An earlier run of this action ended without a known result. It is held until that is resolved. Ask again later with the same request; do not take a new key or token.",
		"Something went wrong while this was being carried out, and it may or may not have gone through. Please do not do it again by another way: look at the result first, or ask us."},
	idem.Used: {409, "This action was carried out, but its answer was not kept",
		"The action is done and is not run again. Its answer was too large, was streamed, broke off, or came in a coding that this request does not accept. Where a Location is given, the result is there.",
		"This went through the first time. The answer itself cannot be shown again; look at the result instead of sending the form once more."},
	idem.Conflict: {422, "This key was used for a different request",
		"The same key or token came before with another method, path, query or body. That request's result stands. Use a new key for a new request, or send the first request unchanged.",
		"This form was sent before with other entries, and that is what counts. Nothing was done with the changed entries. If you want them as well, open the page anew and send it from there."},
	idem.Dead: {425, "This token expired before it was used",
		"The action was not carried out and can no longer be carried out with this token. A new token may be taken, once, and the action sent again with it.",
		"This page was open for too long, so nothing was sent. Open the page anew and send the form from there; your first try had no effect."},
	idem.Forgotten: {410, "This token is older than what is remembered about it",
		"Nobody can tell any more whether the action was carried out with this token. Do not take a new token by yourself: show the page anew and let the person decide.",
		"This page is so old that we cannot tell any more whether the form was sent from it before. Please look whether it went through, and open the page anew if it did not."},
	idem.Missing: {400, "A key or token is required here",
		"Nothing was carried out. Send the action with a key or token, so that it is safe to repeat.",
		"The form came without the number that keeps it from being carried out twice, so nothing was done. Open the page anew and send it from there."},
	idem.Malformed: {400, "The key, token or body cannot be read",
		"Nothing was carried out.",
		"The form could not be read, so nothing was done. Open the page anew and send it from there."},
	idem.Foreign: {403, "This token is not valid here",
		"Nothing was carried out. The token was made for another user, action, context or client, was discarded, or was not made here. Show the page anew.",
		"This page is no longer valid for you, perhaps because you signed in again, so nothing was done. Open the page anew and send the form from there."},
	idem.Unavailable: {503, "It cannot be made sure right now that this action runs only once",
		"Nothing was carried out for this request. Send the same request again, unchanged, after the time in Retry-After.",
		"We could not make sure that this is done only once, so for now nothing was done for this click. Wait a moment, then reload this page; if your browser asks whether to send the form again, say yes."},
}

// The words of special cases.
var (
	wordsNobody = words{401, "Nobody is signed in",
		"Nothing was carried out. A key or token belongs to somebody: sign in first, then send the same request again.",
		"You are not signed in, or no longer. Nothing was done. Sign in and send the form again."}
	wordsTooLarge = words{413, "The body is too large",
		"Nothing was carried out.",
		"What you sent is larger than we take here, so nothing was done. Send less, or a smaller file."}
)
