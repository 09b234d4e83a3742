import { expect } from 'chai';
import { negotiate, wantsProblem } from './accept.ts';

const offered = ['json', 'yaml', 'problem'] as const;

describe('negotiate', () => {
  const cases: readonly [header: string | undefined, format: string][] = [
    [undefined, 'json'],
    ['', 'json'],
    ['*/*', 'json'],
    ['application/json, */*;q=0.8', 'json'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'json'],
    ['application/yaml', 'yaml'],
    ['application/json;q=0.5, application/yaml', 'yaml'],
    ['application/json;as=Table;v=v1;g=meta.k8s.io,application/json', 'json'],
    ['APPLICATION/YAML', 'yaml'],
  ];
  for (const [header, format] of cases) {
    it(`returns the format ${format} for ${String(header)}`, () =>
      expect(negotiate(header, offered)).to.deep.equal({ format }));
  }

  for (const header of [
    'text/html',
    'application/json;q=0',
    'application/json;as=Table;v=v1;g=meta.k8s.io',
    'x'.repeat(2000),
  ]) {
    it(`refuses ${header.slice(0, 60)} with 406`, () => {
      expect(() => negotiate(header, offered))
        .to.throw(/application\/json, application\/yaml/)
        .with.property('code', 406);
    });
  }

  const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const oldTable = 'application/json;as=Table;v=v1beta1;g=meta.k8s.io';
  const shapes = { 'table.v1.meta.k8s.io': 'new', 'table.v1beta1.meta.k8s.io': 'old' };
  const shaped: readonly [header: string, accepted: object][] = [
    [`${table},${oldTable},application/json`, { format: 'json', shape: 'new' }],
    [`${oldTable},${table}`, { format: 'json', shape: 'old' }],
    [`${table};q=0.2,${oldTable};q=0.8,application/json;q=0.5`, { format: 'json', shape: 'old' }],
    [`${table};q=0,application/json`, { format: 'json' }],
    ['application/json; g=meta.k8s.io; v=v1; as=Table', { format: 'json', shape: 'new' }],
    ['application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json', { format: 'json' }],
    ['application/json;as=Foo;v=v1;g=meta.k8s.io,application/yaml', { format: 'yaml' }],
    ['application/json;as=Table;v=v2;g=meta.k8s.io,*/*', { format: 'json' }],
    ['application/json;as=Table,*/*;q=0.1', { format: 'json' }],
    ['application/yaml;as=Table;v=v1;g=meta.k8s.io,application/yaml', { format: 'yaml' }],
    ['application/json;as=__proto__;v=v1;g=x,application/json', { format: 'json' }],
  ];
  for (const [header, accepted] of shaped) {
    it(`returns ${JSON.stringify(accepted)} for ${header}, if the response can be a Table`, () => {
      expect(negotiate(header, offered, shapes)).to.deep.equal(accepted);
    });
  }

  it('refuses a header whose only media type is not offered for this response', () => {
    expect(() => negotiate('text/event-stream', offered))
      .to.throw()
      .with.property('reason', 'NotAcceptable');
  });
});

describe('wantsProblem', () => {
  it('is true only for a client whose Accept header names the format of RFC 9457', () => {
    expect(wantsProblem('application/json, application/problem+json')).to.equal(true);
    expect(wantsProblem('application/problem+json;q=0')).to.equal(false);
    expect(wantsProblem('*/*')).to.equal(false);
  });
});
