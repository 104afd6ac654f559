package storetest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	jobsdb "github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/job"
)

func TestDamagedJobFailsWithoutBlockingOthers(t *testing.T) {
	ctx := context.Background()
	db := hubtest.Database(t, nil)
	first, second := hubtest.Business(t, db), hubtest.Business(t, db)
	damaged := enqueue(t, db, first.ID, `{"stores":[{"ref_id":"a"}]}`)
	behind := enqueue(t, db, first.ID, `{"stores":[{"ref_id":"b"}]}`)
	intact := enqueue(t, db, second.ID, `{"stores":[{"ref_id":"c"}]}`)
	pgtest.Exec(t, db, `UPDATE jobs SET body = '\x28b52ffd00' WHERE id = ?`, damaged)

	jobs, until := jobsdb.New(db), db.Clock().Now().Add(time.Minute)
	claimed, _, err := jobs.Claim(ctx, core.ID{1}, 4, until)
	require.NoError(t, err)
	byID := map[core.ID]core.Job{}
	for _, work := range claimed {
		byID[work.ID] = work
	}
	require.Len(t, byID, 2)
	require.Contains(t, byID[damaged].BodyError, "decompressing a stored body")
	require.Empty(t, byID[intact].BodyError)

	require.NoError(t, jobs.MarkFailed(ctx, byID[damaged], byID[damaged].BodyError))
	require.Equal(t, core.Conflict, core.CodeOf(jobs.MarkFailed(ctx, byID[damaged], "")), "it has ended")
	status, err := jobs.Status(ctx, first.ID, damaged)
	require.NoError(t, err)
	require.Equal(t, job.Failed, status.State)
	require.Equal(t, byID[damaged].BodyError, status.Error)
	claimed, _, err = jobs.Claim(ctx, core.ID{1}, 4, until)
	require.NoError(t, err)
	require.Len(t, claimed, 1)
	require.Equal(t, behind, claimed[0].ID)
}

func TestClaimedJobKnowsThePreviousAttemptsError(t *testing.T) {
	ctx, clock := context.Background(), clocktest.New()
	db := hubtest.Database(t, clock)
	enqueue(t, db, hubtest.Business(t, db).ID, `{"stores":[{"ref_id":"a"}]}`)
	jobs := jobsdb.New(db)
	claim := func() core.Job {
		t.Helper()
		claimed, _, err := jobs.Claim(ctx, core.ID{1}, 1, clock.Now().Add(time.Minute))
		require.NoError(t, err)
		require.Len(t, claimed, 1)
		return claimed[0]
	}
	work := claim()
	require.Empty(t, work.LastError)
	require.NoError(t, jobs.Retry(ctx, work, clock.Now(), "disk full"))
	require.Equal(t, "disk full", claim().LastError)
	clock.Advance(2 * time.Minute) // its lease expires
	work = claim()
	require.Empty(t, work.LastError)
	require.NoError(t, jobs.Retry(ctx, work, clock.Now(), "x"+strings.Repeat("é", 2000)), "cut between characters")
	require.Equal(t, "x"+strings.Repeat("é", 1999), claim().LastError)
}

func TestRenewalKeepsStoredProgressUntilOneIsReported(t *testing.T) {
	ctx, clock := context.Background(), clocktest.New()
	db := hubtest.Database(t, clock)
	enqueue(t, db, hubtest.Business(t, db).ID, `{"stores":[{"ref_id":"a"}]}`)
	jobs, owner := jobsdb.New(db), core.ID{1}
	claimed, _, err := jobs.Claim(ctx, owner, 1, clock.Now().Add(time.Minute))
	require.NoError(t, err)
	pgtest.Exec(t, db, `UPDATE jobs SET progress = 1, total = 4`)
	for _, row := range [][]int{{0, 0, 1, 4}, {2, 5, 2, 5}} {
		require.NoError(t, jobs.Renew(ctx, owner, []job.Progress{{Job: claimed[0], Done: row[0], Total: row[1]}},
			clock.Now().Add(2*time.Minute)))
		var done, total int
		pgtest.Row(t, db, &done, `SELECT progress FROM jobs`)
		pgtest.Row(t, db, &total, `SELECT total FROM jobs`)
		require.Equal(t, row[2:], []int{done, total})
	}
}

func TestFirstJobOfEachOrderingKeyIsClaimed(t *testing.T) {
	ctx, db := t.Context(), hubtest.Database(t, nil)
	first, second := hubtest.Business(t, db), hubtest.Business(t, db)
	jobs := jobsdb.New(db)
	var runs [][]string // by claim
	for n, work := range []core.Job{
		{Business: first.ID, Kind: core.TimingJob}, {Business: first.ID, Kind: core.MenuJob},
		{Business: first.ID, Kind: core.StoreJob, Subject: "a"},
		{Business: first.ID, Kind: core.StoreJob, Subject: "b"},
		{Business: first.ID, Kind: core.RecheckJob, Subject: "web"},
		{Business: first.ID, Kind: core.RecheckJob, Subject: "app"},
		{Business: first.ID, Kind: core.RecheckJob, Subject: "web"},
		{Business: first.ID, Kind: core.ProblemResendJob, Subject: "7"},
		{Business: first.ID, Kind: core.ProblemResendJob, Subject: "8"},
		{Business: second.ID, Kind: core.MenuJob},
	} {
		work.ID, work.Body, work.CreatedAt = core.ID{15: byte(n)}, []byte("{}"), db.Clock().Now()
		require.NoError(t, jobs.Enqueue(ctx, work, ""))
	}
	for range 3 {
		claimed, _, err := jobs.Claim(ctx, core.ID{1}, 99, db.Clock().Now().Add(time.Minute))
		require.NoError(t, err)
		run := []string{}
		for _, work := range claimed {
			run = append(run, strconv.Itoa(int(work.ID[15]))+" "+work.OrderingKey())
			require.NoError(t, jobs.MarkFailed(ctx, work, "ended"))
		}
		slices.Sort(run)
		runs = append(runs, run)
	}
	require.Equal(t, [][]string{
		{"0 menu", "2 stores", "4 recheck/web", "5 recheck/app", "7 problem_resend/7", "8 problem_resend/8", "9 menu"},
		{"1 menu", "3 stores", "6 recheck/web"}, {},
	}, runs)
}

func TestBusinessWithManyJobsLeavesSlotsToOthers(t *testing.T) {
	ctx, db := t.Context(), hubtest.Database(t, nil)
	many, few := hubtest.Business(t, db).ID, hubtest.Business(t, db).ID
	jobs, sent := jobsdb.New(db), 0
	add := func(business core.BusinessID, n int) {
		for range n {
			sent++
			require.NoError(t, jobs.Enqueue(ctx, core.Job{ID: core.ID{15: byte(sent)}, Business: business,
				Kind: core.ProblemResendJob, Subject: strconv.Itoa(sent), Body: []byte("{}"),
				CreatedAt: db.Clock().Now()}, ""))
		}
	}
	claim := func(limit int) (of [2]int) {
		claimed, _, err := jobs.Claim(ctx, core.ID{1}, limit, db.Clock().Now().Add(time.Minute))
		require.NoError(t, err)
		for _, work := range claimed {
			of[map[core.BusinessID]int{many: 0, few: 1}[work.Business]]++
		}
		return of
	}
	add(many, 9)
	require.Equal(t, [2]int{2, 0}, claim(2), "nobody else waits")
	add(few, 3)
	require.Equal(t, [2]int{0, 2}, claim(2), "the longer due jobs wait")
	require.Equal(t, [2]int{1, 1}, claim(2))
	require.Equal(t, [2]int{4, 0}, claim(4))
}

func TestLockedLeaseDelaysNoRenewalOfOthers(t *testing.T) {
	ctx, clock := context.Background(), clocktest.New()
	db := hubtest.Database(t, clock)
	for range 3 {
		enqueue(t, db, hubtest.Business(t, db).ID, `{"stores":[{"ref_id":"a"}]}`)
	}
	jobs, owner := jobsdb.New(db), core.ID{1}
	claimed, _, err := jobs.Claim(ctx, owner, 3, clock.Now().Add(time.Minute))
	require.NoError(t, err)
	require.Len(t, claimed, 3)
	running := make([]job.Progress, len(claimed))
	for i, one := range claimed {
		running[i].Job = one
	}
	exec, commit := pgtest.BeginOther(t, db)
	exec(`SELECT FROM job_queue WHERE job_id = ? FOR UPDATE`, claimed[0].ID)
	until := clock.Now().Add(time.Hour).Truncate(time.Microsecond)
	renewed := make(chan error)
	go func() { renewed <- jobs.Renew(ctx, owner, running, until) }()
	extended := func() (n int) {
		pgtest.Row(t, db, &n, `SELECT count(*) FROM job_queue WHERE available_at = ?`, until)
		return n
	}
	eventually(t, "the others are renewed", func() bool { return extended() == 2 })
	commit()
	require.NoError(t, <-renewed)
	require.Equal(t, 3, extended())
}

func TestEndedJobsAreKeptForTheRetention(t *testing.T) {
	ctx, clock := context.Background(), clocktest.New()
	db := hubtest.Database(t, clock)
	business := hubtest.Business(t, db).ID
	jobs := jobsdb.New(db)
	ended, waiting := enqueue(t, db, business, `{}`), enqueue(t, db, business, `{}`)
	claimed, _, err := jobs.Claim(ctx, core.ID{1}, 1, clock.Now().Add(time.Minute))
	require.NoError(t, err)
	require.Equal(t, ended, claimed[0].ID)
	clock.Advance(time.Second)
	require.NoError(t, jobs.MarkFailed(ctx, claimed[0], "no"))
	stored := func(after time.Duration) (ids []core.ID) {
		t.Helper()
		clock.Advance(after)
		require.NoError(t, jobs.DropOld(ctx, time.Hour))
		require.NoError(t, db.Bun().NewRaw(`SELECT id FROM jobs`).Scan(ctx, &ids))
		return ids
	}
	require.ElementsMatch(t, []core.ID{ended, waiting}, stored(time.Hour))
	require.Equal(t, []core.ID{waiting}, stored(time.Second))
}
