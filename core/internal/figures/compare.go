package figures

import "fmt"

// Compare notes the change of each figure, and reports whether one is worse. It compares ratios to the floor where both
// runs have one, because these hold across machines.
func Compare(before, after []Figure, within float64) (noted []Figure, worse bool) {
	earlier := map[string]Figure{}
	for _, f := range before {
		earlier[f.Name] = f
	}
	for _, now := range after {
		was, known := earlier[now.Name]
		delete(earlier, now.Name)
		switch {
		case now.Error != "":
			worse = true
		case !known || was.Error != "":
			now.Note = "new"
		default:
			change := 100 * (now.Measured/was.Measured - 1)
			now.Note = fmt.Sprintf("was %s, %+.0f%%", amount(was.Measured, was.Unit), change)
			if was.Ratio != nil && now.Ratio != nil {
				change = 100 * (*now.Ratio / *was.Ratio - 1)
				now.Note += fmt.Sprintf(", %+.0f%% by ratio", change)
			}
			if now.Unit == PerSecond { // more is better
				change = -change
			}
			missed := was.Met != nil && *was.Met && now.Met != nil && !*now.Met
			switch {
			case missed || change > within:
				now.Note, worse = now.Note+": WORSE", true
			case change < -within:
				now.Note += ": better"
			}
		}
		noted = append(noted, now)
	}
	for _, f := range before {
		if _, gone := earlier[f.Name]; gone {
			noted = append(noted, Figure{Name: f.Name, Error: "not measured"})
		}
	}
	return noted, worse
}
