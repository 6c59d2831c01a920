package idem

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// LoadPolicies reads a JSON array of policies: the names of PROTOCOL section 8,
// durations as Go writes them, sizes such as "1MiB".
//
//	policies, err := idem.LoadPolicies([]byte(`[
//		{"operation": "shop:order:create", "preset": "form", "retention": "48h"},
//		{"operation": "shop:order:pay", "preset": "payment"}
//	]`))
//
// A member that is left out takes its preset's answer. Everything that is wrong
// is reported in one error, each with the operation and the member: an unknown
// member, one that stands twice, a value that no guard of this build honours,
// two policies of one operation. The policies come back as they were written;
// [New] and [Guard.SetPolicy] fill in the rest and look at the store as well. An
// empty array is no error and gives none.
func LoadPolicies(text []byte) ([]Policy, error) {
	var raws []json.RawMessage
	if err := json.Unmarshal(text, &raws); err != nil {
		return nil, fmt.Errorf("idem: policies cannot be read: they are a JSON array of objects: %w", located(text, err))
	}
	if raws == nil {
		return nil, errors.New("idem: policies cannot be read: null is no JSON array")
	}
	var errs []error
	policies, seen := make([]Policy, 0, len(raws)), map[string]bool{}
	for i, raw := range raws {
		p, wrong := readPolicy(raw)
		name := fmt.Sprintf("policy %q", p.Operation)
		if p.Operation == "" {
			name = fmt.Sprintf("policy %d of the array", i+1)
		}
		for _, err := range wrong {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		if p.Operation != "" || len(wrong) == 0 {
			errs = append(errs, checkRead(p, wrong))
		}
		if seen[p.Operation] && p.Operation != "" {
			errs = append(errs, fmt.Errorf("%s: there are two; an operation has one policy", name))
		}
		seen[p.Operation] = true
		policies = append(policies, p)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("idem: policies cannot be used:\n%w", err)
	}
	return policies, nil
}

// checkRead checks what could be read, whatever the store. Where a member could
// not, the times are left out: compared with a default that nobody asked for
// they would be blamed for nothing.
func checkRead(p Policy, wrong []error) error {
	if len(wrong) > 0 {
		p.Lease, p.MaxRun, p.Retention, p.TokenLife = 0, 0, 0, 0
	}
	p = p.withDefaults()
	return p.check(Description{})
}

// UnmarshalJSON reads one policy by the names of PROTOCOL section 8 and reports
// everything it cannot read in one error; p is then left as it was. Which
// choices a guard honours is checked where the policy is used: by LoadPolicies,
// New and SetPolicy.
func (p *Policy) UnmarshalJSON(text []byte) error {
	read, wrong := readPolicy(text)
	if len(wrong) > 0 {
		return fmt.Errorf("idem: policy %q cannot be read:\n%w", read.Operation, errors.Join(wrong...))
	}
	*p = read
	return nil
}

// MarshalJSON writes the policy by the same names. What is left open is left
// out, so a policy from [Guard.Policy] or [Guard.Policies], which leaves nothing
// open, is written whole.
func (p Policy) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for _, m := range policyMembers {
		at := m.at(&p)
		if m.open && isZero(at) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(strconv.AppendQuote(out, m.name), ':')
		out = append(out, writtenMember(at)...)
	}
	return append(out, '}'), nil
}

// policyMember is one member of a policy's JSON: its name, whether zero leaves
// the question to the preset (it is then neither written nor accepted: a zero
// that silently becomes a default is a trap), and where it stands.
type policyMember struct {
	name string
	open bool
	at   func(*Policy) any
}

// leaseMember is the lease and whether it is adaptive: one member.
type leaseMember struct{ *Policy }

// fixed is a member that this build honours with one value only: its JSON.
type fixed string

// policyMembers are the members in the order of PROTOCOL section 8. Which values
// they may have stands in Policy.check.
var policyMembers = [...]policyMember{
	{"operation", false, func(p *Policy) any { return &p.Operation }},
	{"preset", false, func(p *Policy) any { return (*string)(&p.Preset) }},
	{"mode", true, func(p *Policy) any { return (*string)(&p.Mode) }},
	{"share", true, func(p *Policy) any { return &p.Share }},
	{"key", true, func(p *Policy) any { return &p.Key }},
	{"keyRequired", true, func(p *Policy) any { return &p.KeyRequired }},
	{"methods", true, func(p *Policy) any { return &p.Methods }},
	{"context", false, func(p *Policy) any { return &p.Context }},
	{"traits", false, func(p *Policy) any { return &p.Traits }},
	{"fingerprint", false, func(p *Policy) any { return &p.Fingerprint }},
	{"onDuplicate", true, func(p *Policy) any { return (*string)(&p.OnDuplicate) }},
	{"wait", true, func(p *Policy) any { return &p.Wait }},
	{"on4xx", true, func(p *Policy) any { return (*string)(&p.On4xx) }},
	{"onOther4xx", true, func(p *Policy) any { return (*string)(&p.OnOther4xx) }},
	{"on5xx", true, func(p *Policy) any { return (*string)(&p.On5xx) }},
	{"onCrash", true, func(p *Policy) any { return (*string)(&p.OnCrash) }},
	{"onOutage", true, func(p *Policy) any { return (*string)(&p.OnOutage) }},
	{"onDisconnect", true, func(p *Policy) any { return (*string)(&p.OnDisconnect) }},
	{"atomic", true, func(p *Policy) any { return &p.Atomic }},
	{"lease", true, func(p *Policy) any { return leaseMember{p} }},
	{"maxRun", true, func(p *Policy) any { return &p.MaxRun }},
	{"retention", true, func(p *Policy) any { return &p.Retention }},
	{"tokenLife", true, func(p *Policy) any { return &p.TokenLife }},
	{"maxBody", true, func(p *Policy) any { return &p.MaxBody }},
	{"maxKeptBody", true, func(p *Policy) any { return &p.MaxKeptBody }},
	{"localReplay", false, func(*Policy) any { return fixed(`"0s"`) }},
}

var choiceMembers = [...]string{"mode", "only", "ignore"}

func isZero(at any) bool {
	if list, ok := at.(*[]string); ok {
		return len(*list) == 0
	}
	if lease, ok := at.(leaseMember); ok {
		return lease.Lease == 0 && !lease.AdaptiveLease
	}
	v := reflect.ValueOf(at)
	return v.Kind() == reflect.Pointer && v.Elem().IsZero()
}

// readPolicy reads one object. What could be read stands in p.
func readPolicy(text []byte) (p Policy, wrong []error) {
	err := eachMember(text, func(name string, raw json.RawMessage) {
		i := slices.IndexFunc(policyMembers[:], func(m policyMember) bool { return m.name == name })
		if i < 0 {
			wrong = append(wrong, unknownMember(name, func(m policyMember) string { return m.name }, policyMembers[:]))
			return
		}
		m := policyMembers[i]
		at := m.at(&p)
		errs := readMember(raw, at)
		if len(errs) == 0 && m.open && isZero(at) {
			errs = []error{fmt.Errorf("%s leaves the question open: leave the member out for the preset's answer", short(raw))}
		}
		for _, err := range errs {
			wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
		}
	})
	return p, append(wrong, err...)
}

func unknownMember[T any](name string, nameOf func(T) string, known []T) error {
	for _, k := range known {
		if strings.EqualFold(nameOf(k), name) {
			return fmt.Errorf("%.80q is no member: write %q", name, nameOf(k))
		}
	}
	return fmt.Errorf("%.80q is no member", name)
}

// eachMember tells the members of an object one by one. encoding/json would take
// a name in any case, and the last of two that are the same.
func eachMember(text []byte, tell func(name string, raw json.RawMessage)) (wrong []error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return []error{fmt.Errorf("%s is no JSON object", short(text))}
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return append(wrong, located(text, err))
		}
		name, _ := token.(string) // the name of a member is always one
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return append(wrong, located(text, err))
		}
		if seen[name] {
			wrong = append(wrong, fmt.Errorf("%.80q stands twice", name))
			continue
		}
		seen[name] = true
		tell(name, raw)
	}
	if _, err := d.Token(); err != nil {
		wrong = append(wrong, located(text, err))
	}
	return wrong
}

// located says in which line a syntax error stands.
func located(text []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	before := text[:min(max(syntax.Offset, 0), int64(len(text)))]
	return fmt.Errorf("line %d: %w", 1+bytes.Count(before, []byte("\n")), err)
}
