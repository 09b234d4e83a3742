import { expect } from 'chai';
import type { Attributes } from '../authorization/attributes.ts';
import type { UserInfo } from '../identity/user-info.ts';
import { AuditRules } from './audit-policy.ts';
import { parseAuditPolicy } from './read-policy.ts';

const ann: UserInfo = { username: 'ann', groups: ['staff'] };

function resource(fields: Partial<Attributes & { readonly isResource: true }> = {}): Attributes {
  return {
    isResource: true,
    verb: 'get',
    group: '',
    version: 'v1',
    resource: 'pods',
    namespace: 'a',
    name: 'x',
    ...fields,
  };
}

function path(url: string): Attributes {
  return { isResource: false, verb: 'get', path: url };
}

function parse(lines: string): ReturnType<typeof parseAuditPolicy> {
  return parseAuditPolicy({ path: 'policy.yaml', text: `apiVersion: audit.k8s.io/v1\nkind: Policy\n${lines}` });
}

function levelOf(rule: string, attributes: Attributes, user: UserInfo | undefined = ann): string {
  return new AuditRules(parse(`rules: [{ level: Request, ${rule} }]`)).decide(user, attributes).level;
}

describe('an audit policy', () => {
  const cases: readonly [rule: string, attributes: Attributes, matches: boolean][] = [
    ['users: [ann]', resource(), true],
    ['users: [bob]', resource(), false],
    ['userGroups: [staff, x]', path('/version'), true],
    ['userGroups: [x]', resource(), false],
    ['verbs: [get]', resource(), true],
    ['verbs: [list]', resource(), false],
    ['namespaces: [a]', resource(), true],
    ['namespaces: [b]', resource(), false],
    ['namespaces: [""]', resource({ namespace: undefined }), true],
    ['namespaces: [a]', path('/version'), false],
    ['resources: [{ group: "" }]', resource(), true],
    ['resources: [{ group: apps }]', resource(), false],
    ['resources: [{ resources: [pods] }]', resource({ subresource: 'status' }), false],
    ['resources: [{ resources: [pods/status] }]', resource({ subresource: 'status' }), true],
    ['resources: [{ resources: [pods/*] }]', resource({ subresource: 'status' }), true],
    ['resources: [{ resources: ["*/status"] }]', resource({ subresource: 'status' }), true],
    ['resources: [{ resources: ["*"] }]', resource({ subresource: 'status' }), true],
    ['resources: [{ resources: [pods/*] }]', resource(), false],
    ['resources: [{ resources: [pods], resourceNames: [x] }]', resource(), true],
    ['resources: [{ resources: [pods], resourceNames: [y] }]', resource(), false],
    ['nonResourceURLs: ["/debug*", /version]', path('/version'), true],
    ['nonResourceURLs: ["/debug*"]', path('/debug/x'), true],
    ['nonResourceURLs: ["/debug"]', path('/debug/x'), false],
    ['nonResourceURLs: ["*"]', resource(), false],
  ];
  for (const [rule, attributes, matches] of cases) {
    it(`with the rule "${rule}" ${matches ? 'records' : 'ignores'} the request ${JSON.stringify(attributes)}`, () => {
      expect(levelOf(rule, attributes)).to.equal(matches ? 'Request' : 'None');
    });
  }

  it('does not apply a rule that names users to a request whose credential was refused', () => {
    const rules = new AuditRules(parse('rules: [{ level: None, users: [ann] }, { level: Metadata }]'));
    expect(rules.decide(undefined, resource()).level).to.equal('Metadata');
  });

  it('adds the `omitStages` of a rule to those of the policy, and lets a rule override `omitManagedFields`', () => {
    const rules = new AuditRules(
      parse(
        'omitStages: [Panic]\nomitManagedFields: true\nrules: [{ level: Metadata, omitStages: [RequestReceived], omitManagedFields: false }]',
      ),
    );
    expect(rules.decide(ann, resource())).to.deep.equal({
      level: 'Metadata',
      omitStages: ['Panic', 'RequestReceived'],
      omitManagedFields: false,
    });
  });

  for (const [lines, message] of [
    [
      'rules: [{ level: All }]',
      'policy.yaml:3: rules[0].level: must be one of None, Metadata, Request, RequestResponse',
    ],
    ['rules: []', 'policy.yaml:3: rules: must have a rule, or nothing is recorded'],
    ['rules:\n  - level: None\n    verb: [get]', 'policy.yaml:5: rules[0].verb: is not known here'],
    ['rules: [{ level: None, omitStages: [Late] }]', 'policy.yaml:3: rules[0].omitStages[0]: must be one of'],
    ['rules: [{ level: None, nonResourceURLs: [debug] }]', 'policy.yaml:3: rules[0].nonResourceURLs[0]: must be'],
    ['rules: [{ level: None, nonResourceURLs: [/a], namespaces: [b] }]', 'use a separate rule'],
    ['rules: [{ level: None, resources: [{ resourceNames: [b] }] }]', 'resourceNames: needs resources'],
    ['omitManagedFields: 1\nrules: [{ level: None }]', 'policy.yaml:3: omitManagedFields: must be true or false'],
  ] as const) {
    it(`is refused when its text is ${lines}`, () => {
      expect(() => parse(lines)).to.throw(message);
    });
  }
});
