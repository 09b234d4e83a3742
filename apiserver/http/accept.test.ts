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
    it(`answers ${String(header)} with ${format}`, () => expect(negotiate(header, offered)).to.equal(format));
  }

  for (const header of [
    'text/html',
    'application/json;q=0',
    'application/json;as=Table;v=v1;g=meta.k8s.io',
    'x'.repeat(2000),
  ]) {
    it(`refuses ${header.slice(0, 60)}`, () => {
      expect(() => negotiate(header, offered))
        .to.throw(/application\/json, application\/yaml/)
        .with.property('code', 406);
    });
  }

  it('does not write what this answer cannot be', () => {
    expect(() => negotiate('text/event-stream', offered))
      .to.throw()
      .with.property('reason', 'NotAcceptable');
  });
});

describe('wantsProblem', () => {
  it('is true for a client that accepts RFC 9457', () => {
    expect(wantsProblem('application/json, application/problem+json')).to.equal(true);
    expect(wantsProblem('application/problem+json;q=0')).to.equal(false);
    expect(wantsProblem('*/*')).to.equal(false);
  });
});
