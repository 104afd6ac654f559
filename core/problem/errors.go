package problem

import (
	"net/http"

	"github.com/servery-hub/servery/core"
)

// errorTable is the only table that maps error codes to HTTP statuses.
var errorTable = []Error{
	{core.Invalid, http.StatusBadRequest, "The request breaks a rule. Nothing of it was stored.",
		"A field is missing or has a wrong type, value or length, or the body is not valid JSON. `errors` lists each " +
			"violation.",
		"Correct the fields that `errors[].path` names, then resend. A retry without a change fails again."},
	{core.Unauthenticated, http.StatusUnauthorized, "The credentials are missing or wrong.",
		"The `Authorization` header is missing, is not `apikey USERNAME:API_KEY`, or has an unknown key.",
		"Check the header and the key. The response is the same in all of these cases; the log of the hub has the " +
			"reason."},
	{core.Forbidden, http.StatusForbidden, "The credentials are valid, but not for this call.",
		"The API key is revoked, lacks the scope of the call, or belongs to another platform.",
		"Use a key with the scope that the reference lists for the call, or ask the operator of the hub for one."},
	{core.NotFound, http.StatusNotFound, "The path or the object does not exist.",
		"The URL is misspelled, the id is unknown, or the object belongs to another business or is past its retention.",
		"Check the URL and the id that `message` names."},
	{core.MethodNotAllowed, http.StatusMethodNotAllowed, "The path exists, but not with this method.",
		"The call uses the wrong HTTP method.", "Use a method that the `Allow` header of the response lists."},
	{core.TooSlow, http.StatusRequestTimeout, "The request did not arrive in time.",
		"The header took longer than 10 seconds, or the body made no progress for as long.",
		"Check the network, then resend. Nothing of the request was stored."},
	{core.Conflict, http.StatusConflict, "The request is valid, but the object's current state does not allow it.",
		"An order has moved on, another webhook has this event and URL, a job has not ended, or a limit is reached.",
		"Read the object, then decide. `message` names the state and, for orders, the states that can follow."},
	{core.TooLarge, http.StatusRequestEntityTooLarge, "The body is larger than the call accepts.",
		"The body exceeds the limit before or after decompression, and `message` states the limit in bytes. Or it " +
			"needs more memory than the hub has for one body, and `message` says so.",
		"Split the request. Stores and menus can be sent in parts."},
	{core.UnsupportedMedia, http.StatusUnsupportedMediaType, "The body has a format that the hub does not read.",
		"`Content-Type` is not JSON, its charset is not UTF-8, or `Content-Encoding` is not gzip.",
		"Send JSON in UTF-8 with `Content-Type: application/json`, plain or compressed with gzip."},
	{core.Throttled, http.StatusTooManyRequests, "The business has sent more requests than the call allows.",
		"A rate limit is counted for each business, over all its keys. So are its requests in progress.",
		"Wait for the seconds in `Retry-After`, then retry. The `RateLimit-*` headers of rate-limited calls show " +
			"what is left."},
	{core.Internal, http.StatusInternalServerError, "The hub failed to process the request.",
		"A fault in the hub or in a plugin. The log has an entry with the `request_id` of the response.",
		"Retry with backoff. If it persists, send the `request_id` to the operator."},
	{core.Unavailable, http.StatusServiceUnavailable, "The hub cannot process requests at the moment.",
		"The hub starts, stops or is at its limits, its database does not respond, or a plugin that the call needs " +
			"is not running.",
		"Retry after the seconds in `Retry-After`, or with backoff where there is none."},
}
