import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parseResourcePath } from './resource-path.ts';

interface RequestInfo {
  readonly url: string;
  readonly verb: string;
  readonly group?: string;
  readonly version?: string;
  readonly namespace?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly name?: string;
}

const file = new URL('../../../../test/vectors/request-info.json', import.meta.url);
const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { cases: readonly RequestInfo[] };

/** Returns the reason why this server parses a path in another way than Kubernetes; undefined when it does not. */
function deviation({ url }: RequestInfo): string | undefined {
  if (url.includes('/proxy')) return 'nothing is proxied';
  if (url.includes('/subpath')) return 'no subresource has a path of its own';
  return undefined;
}

describe('parseResourcePath', () => {
  for (const recorded of cases.filter((each) => each.resource !== undefined && deviation(each) === undefined)) {
    it(`parses ${recorded.url} as Kubernetes does`, () => {
      const path = parseResourcePath(recorded.url.split('?')[0] as string);
      expect(path?.group).to.equal(recorded.group);
      expect(path?.version).to.equal(recorded.version);
      expect(path?.plural).to.equal(recorded.resource);
      expect(path?.name ?? '').to.equal(recorded.name);
      expect(path?.subresource ?? '').to.equal(recorded.subresource);
      // `/namespaces/<ns>` is the Namespace itself. Kubernetes returns <ns> as name and as namespace.
      if (recorded.resource !== 'namespaces') expect(path?.namespace ?? '').to.equal(recorded.namespace);
    });
  }

  it('ignores a single trailing slash', () => {
    expect(parseResourcePath('/apis/g.io/v1/things/')).to.include({ plural: 'things' });
    expect(parseResourcePath('/apis/g.io/v1/things//')).to.equal(undefined);
  });

  it('does not accept a path with an empty segment', () => {
    expect(parseResourcePath('/apis//v1/things')).to.equal(undefined);
    expect(parseResourcePath('//apis/g.io/v1/things')).to.equal(undefined);
  });

  it('decodes each segment, so that an encoded slash does not separate segments', () => {
    expect(parseResourcePath('/apis/g.io/v1/things/..%2f..')).to.include({ plural: 'things', name: '../..' });
  });

  it('refuses paths that are not percent-encoded UTF-8 with 400', () => {
    expect(() => parseResourcePath('/apis/g.io/v1/things/%ff'))
      .to.throw()
      .with.property('reason', 'BadRequest');
  });

  it('parses the deprecated paths that have /watch/ after the version', () => {
    expect(parseResourcePath('/apis/g.io/v1/watch/things')).to.include({ plural: 'things', watch: true });
    expect(parseResourcePath('/apis/g.io/v1/watch/things/a')).to.include({ plural: 'things', name: 'a', watch: true });
  });

  it('returns undefined for paths of discovery, and for paths with too many segments', () => {
    for (const path of [
      '/',
      '/apis',
      '/apis/g.io',
      '/apis/g.io/v1',
      '/api',
      '/api/v1',
      '/apis/g.io/v1/things/a/status/more',
    ]) {
      expect(parseResourcePath(path), path).to.equal(undefined);
    }
  });

  it('returns undefined for a namespace that contains "/" or "%" or is "." or "..", and accepts all others', () => {
    for (const odd of ['a%2Fb', '.', '..', 'a%25b']) {
      expect(parseResourcePath(`/apis/g.io/v1/namespaces/${odd}/things`), odd).to.equal(undefined);
    }
    expect(parseResourcePath('/apis/g.io/v1/namespaces/Not_Valid/things')).to.include({ namespace: 'Not_Valid' });
  });
});
