package core

// FailedObject is an object of a request that was not applied.
type FailedObject struct {
	Entity  string `json:"entity"` // the array that it stood in, such as items
	RefID   string `json:"ref_id"` // of a tax or charge its code and structure
	Message string `json:"message"`
}

// MaxFailed bounds the objects that are told with a job; the callback tells of all.
const MaxFailed = 100
