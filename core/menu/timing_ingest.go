package menu

import (
	"cmp"
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// TimingStorage stores category timings.
type TimingStorage interface {
	// IngestTimings ends the job in one transaction. It finds the categories by ref_id, calls decide for the result,
	// and writes the groups, the event with its deliveries, and the job's outcome. It writes nothing and returns
	// Conflict if the job's lease is lost.
	IngestTimings(ctx context.Context, job core.Job, refIDs []string,
		decide func(categories map[string]int64) (TimingIngestResult, error)) error
}

// TimingIngestResult is the result of a job.
type TimingIngestResult struct {
	Groups  []TimingChange
	Event   core.Event
	Result  []byte // JSON, stored with the job
	Failure string // why the job failed as a whole; "" if it did not
	Objects int    // groups in the request
}

// TimingChange is a group that replaces the one with its title. Without categories the group is deleted.
type TimingChange struct {
	Title      string
	Hours      []core.DayHours
	Categories []int64
}

// TimingStats is the result of a group.
type TimingStats struct {
	Title   string               `json:"title"`
	Success bool                 `json:"success"`
	Stats   []CategoryTimingStat `json:"stats"`
}

// CategoryTimingStat is the result of a category in a group.
type CategoryTimingStat struct {
	Category string `json:"category"`
	Success  bool   `json:"success"`
	Message  string `json:"message,omitzero"` // the error
}

// DecideTimings returns the result of a request. An unknown category fails alone: the others of its group get the
// times. A group whose categories all failed stays unchanged.
func DecideTimings(groups []TimingGroup, categories map[string]int64) (changes []TimingChange, stats []TimingStats) {
	for _, group := range groups {
		change := TimingChange{Title: group.Title, Hours: group.DaySlots}
		result := TimingStats{Title: group.Title, Success: true,
			Stats: make([]CategoryTimingStat, len(group.CategoryRefIDs))}
		for i, refID := range group.CategoryRefIDs {
			result.Stats[i] = CategoryTimingStat{Category: refID, Success: true}
			if id, known := categories[refID]; known {
				change.Categories = append(change.Categories, id)
				continue
			}
			result.Success = false
			result.Stats[i].Success, result.Stats[i].Message = false,
				fmt.Sprintf("there is no category with the ref_id %q", refID)
		}
		stats = append(stats, result)
		if len(change.Categories) > 0 || len(group.CategoryRefIDs) == 0 {
			changes = append(changes, change)
		}
	}
	return changes, stats
}

// FailedTimings returns the result of a request that the hub could not execute.
func FailedTimings(groups []TimingGroup, message string) (stats []TimingStats) {
	for _, group := range groups {
		result := TimingStats{Title: group.Title, Stats: make([]CategoryTimingStat, len(group.CategoryRefIDs))}
		for i, refID := range group.CategoryRefIDs {
			result.Stats[i] = CategoryTimingStat{Category: refID, Message: message}
		}
		stats = append(stats, result)
	}
	return stats
}

// TimingIngestor runs the jobs of requests for category timings.
type TimingIngestor struct {
	Storage TimingStorage
	Clock   core.Clock
}

// Run executes a request (job.Handler).
func (i TimingIngestor) Run(ctx context.Context, job core.Job, report func(done, total int)) error {
	request, err := DecodeTimings(job.Body)
	if err != nil {
		return core.UnreadableRequest(err)
	}
	report(0, len(request.Groups))
	err = i.ingest(ctx, job, request, "", DecideTimings)
	if err == nil {
		report(len(request.Groups), len(request.Groups))
	}
	return err
}

// Fail ends a request that could not be executed. It writes nothing, and the callback reports every group as failed
// (job.Handler). It does not check the request, because a violation may be the cause.
func (i TimingIngestor) Fail(ctx context.Context, job core.Job, cause error) error {
	request, err := decodeTimingsUnchecked(job.Body)
	if err != nil {
		return core.UnreadableRequest(err)
	}
	return i.ingest(ctx, job, request, cause.Error(),
		func(groups []TimingGroup, _ map[string]int64) ([]TimingChange, []TimingStats) {
			return nil, FailedTimings(groups, core.UnprocessedRequest(job.ID))
		})
}

func (i TimingIngestor) ingest(ctx context.Context, job core.Job, request TimingRequest, failure string,
	decide func([]TimingGroup, map[string]int64) ([]TimingChange, []TimingStats),
) error {
	var refIDs []string
	for _, group := range request.Groups {
		refIDs = append(refIDs, group.CategoryRefIDs...)
	}
	return i.Storage.IngestTimings(ctx, job, refIDs, func(categories map[string]int64) (TimingIngestResult, error) {
		changes, stats := decide(request.Groups, categories)
		body, err := json.Marshal(struct {
			Reference core.ID          `json:"reference_id"`
			Groups    []jsontext.Value `json:"timing_groups"`
			Stats     []TimingStats    `json:"stats"`
			Warnings  []Warning        `json:"warnings,omitzero"`
		}{job.ID, request.Sent, stats, request.Warnings})
		if err != nil {
			return TimingIngestResult{}, fmt.Errorf("encoding the callback: %w", err)
		}
		result, err := json.Marshal(summarizeTimings(stats))
		if err != nil {
			return TimingIngestResult{}, fmt.Errorf("encoding the result: %w", err)
		}
		now := i.Clock.Now()
		return TimingIngestResult{Groups: changes,
			Result: result, Failure: failure, Objects: len(request.Groups), Event: core.Event{
				ID: core.NewID(now), Business: job.Business, Type: core.CatalogueTimingGroup, At: now,
				Body: body, Reference: job.ID.String(), CallbackURL: job.CallbackURL,
			}}, nil
	})
}

// timingSummary is the result that is stored with a job.
type timingSummary struct {
	Groups int                 `json:"groups"`
	Errors int                 `json:"errors"` // groups that failed in part or in full
	Failed []core.FailedObject `json:"failed,omitzero"`
}

// summarizeTimings counts the groups and lists the first that failed, each with the first error of a category.
func summarizeTimings(groups []TimingStats) timingSummary {
	summary := timingSummary{Groups: len(groups)}
	for _, group := range groups {
		if group.Success {
			continue
		}
		if summary.Errors++; summary.Errors > core.MaxFailedObjects {
			continue
		}
		failed := core.FailedObject{Entity: TimingsEntity, RefID: group.Title}
		for _, category := range group.Stats {
			failed.Message = cmp.Or(failed.Message, category.Message)
		}
		summary.Failed = append(summary.Failed, failed)
	}
	return summary
}
