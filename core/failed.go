package core

// FailedObject is an object of a request that was not applied.
type FailedObject struct {
	Entity  string `json:"entity"` // the array that contained it, such as items
	RefID   string `json:"ref_id"` // for a tax or charge, its code and structure; for a timing group, its title
	Message string `json:"message"`
}

// MaxFailedObjects bounds the failed objects stored with a job. The callback lists all of them.
const MaxFailedObjects = 100
