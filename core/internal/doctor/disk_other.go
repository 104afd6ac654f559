//go:build !linux && !darwin

package doctor

// Disk checks nothing, because this system reports free space differently.
func (d *Doctor) Disk(string, string, bool) {}
