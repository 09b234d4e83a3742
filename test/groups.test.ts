import { serviceOwner, startApiServer } from '@homeostat/apiserver';
import { defineModel, definePlugin } from 'homeostat';
import type { ModelDescriptor } from 'homeostat';
import { silentLogger, startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { expect } from 'chai';

function modelIn(group: string): ModelDescriptor {
  return defineModel({
    group,
    version: 'v1',
    kind: 'Thing',
    plural: 'things',
    schema: { type: 'object', properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } } },
  });
}

describe('groups of plugins', () => {
  let server: TestServer | undefined;

  afterEach(async () => {
    await server?.stop();
    server = undefined;
  });

  /** Returns the reason why a plugin with a kind of the given group does not start; undefined when it starts. */
  async function refusalOf(group: string, serviceDomain?: string): Promise<string | undefined> {
    const options = serviceDomain === undefined ? {} : { serviceDomain };
    try {
      server = await startTestServer({
        logger: silentLogger,
        ...options,
        plugins: [definePlugin({ models: [modelIn(group)] })],
      });
    } catch (error) {
      return (error as Error).message;
    }
    const answer = await fetch(`${server.url}/apis/${group}/v1/things`);
    await server.stop();
    server = undefined;
    return answer.status === 200 ? undefined : `answers ${answer.status}`;
  }

  it('may not be the empty string, because the server reserves this group for itself [spec 2.1-group-empty]', async () => {
    expect(await refusalOf('')).to.include('group: the empty group is reserved for the server');
  });

  for (const [serviceDomain, own] of [
    [undefined, 'homeostat.internal'],
    ['svc.example.net', 'svc.example.net'],
  ] as const) {
    it(`may not be ${own} or a subdomain of it when ${own} is the service domain`, async () => {
      for (const group of [own, `x.${own}`, `a.b.${own}`]) {
        expect(await refusalOf(group, serviceDomain), group).to.include(`"${group}" is reserved: ${own}`);
      }
    });

    it(`may be my${own} or ${own}.example.com, which are not subdomains of the service domain ${own}`, async () => {
      expect(await refusalOf(`my${own}`, serviceDomain)).to.equal(undefined);
      expect(await refusalOf(`${own}.example.com`, serviceDomain)).to.equal(undefined);
    });
  }

  it("may not be audit.internal or plugins.internal, the domains of the server's own endpoints, or a group below them", async () => {
    for (const domain of ['audit.internal', 'plugins.internal'])
      for (const group of [domain, `api.${domain}`])
        expect(await refusalOf(group), group).to.include(`"${group}" is reserved: ${domain}`);
    expect(await refusalOf('myaudit.internal')).to.equal(undefined);
  });

  it('may be below homeostat.internal when the service has another domain', async () => {
    expect(await refusalOf('x.homeostat.internal', 'svc.example.net')).to.equal(undefined);
  });

  it('are refused when they are not valid, such as other spellings of reserved groups', async () => {
    for (const group of ['x.Homeostat.Internal', 'x.homeostat.internal.', '.homeostat.internal', 'internal']) {
      expect(await refusalOf(group), group).to.include('group:');
    }
  });

  it('when a group is reserved, register throws; a plugin that catches the error starts without the kind', async () => {
    const seen: string[] = [];
    const plugin = definePlugin({
      start({ schemeManager }) {
        for (const group of ['', 'x.homeostat.internal']) {
          try {
            schemeManager.register(modelIn(group));
          } catch (error) {
            seen.push((error as Error).message);
          }
        }
      },
    });
    server = await startTestServer({ plugins: [plugin] });
    expect(seen).to.have.length(2);
    expect(server.server.schemeManager.list().filter(({ owner }) => owner !== serviceOwner)).to.deep.equal([]);
  });
});

describe('the service domain', () => {
  it('is refused with a TypeError when it is not a valid domain with a dot', async () => {
    for (const serviceDomain of ['', 'internal', 'Svc.example.net', '-a.example', '.example', 'a..b']) {
      const error: unknown = await startApiServer({ database: 'memory:', port: 0, serviceDomain }).catch(
        (thrown: unknown) => thrown,
      );
      expect(error, serviceDomain)
        .to.be.instanceOf(TypeError)
        .with.property('message')
        .that.matches(/^serviceDomain: /);
    }
  });
});
