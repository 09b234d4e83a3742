import { expect } from 'chai';
import { isNotFound } from 'homeostat';
import type { Client } from 'homeostat';
import { checkConvergence, startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { fileURLToPath } from 'node:url';
import { deploymentController } from './deployment-controller.ts';
import { ConfigMap, Deployment, Ingress, WebPage } from './models.ts';
import { webPageController } from './web-page-controller.ts';

const folder = fileURLToPath(new URL('..', import.meta.url));
const namespace = 'default';
const html = '<html><body>Hello</body></html>';
const page = { metadata: { name: 'hello', namespace }, spec: { html, exposed: true } };

describe('example 07: web page', () => {
  let server: TestServer;
  let client: Client;

  beforeEach(async () => {
    server = await startTestServer({ plugins: [folder] });
    client = server.httpClient;
    await client.create(WebPage, page);
    await server.settle();
  });

  afterEach(async () => server.stop());

  const change = async (spec: object): Promise<void> => {
    await client.patch(WebPage, 'hello', { type: 'merge', patch: { spec } }, { namespace });
    await server.settle();
  };
  const statusOf = async () => (await client.get(WebPage, 'hello', { namespace })).status;
  const served = async () => (await client.get(ConfigMap, 'hello-html', { namespace })).data?.['index.html'];

  it('serves the html of the page, and reports the address', async () => {
    expect(await served()).to.equal(html);
    const status = await statusOf();
    expect(status).to.include({ htmlConfigMap: 'hello-html', link: 'https://hello.default.example.com/' });
    expect(status?.conditions?.[0]).to.include({ type: 'Ready', status: 'True', reason: 'Served' });
  });

  it('serves the new html after a change, and restarts the web server', async () => {
    const before = (await client.get(Deployment, 'hello', { namespace })).spec.checksum;
    await change({ html: '<html>Bye</html>' });
    expect(await served()).to.equal('<html>Bye</html>');
    expect((await client.get(Deployment, 'hello', { namespace })).spec.checksum).not.to.equal(before);
  });

  it('creates no ingress and reports no link when the page is not exposed', async () => {
    await change({ exposed: false });
    const ingress: unknown = await client.get(Ingress, 'hello', { namespace }).catch((error: unknown) => error);
    expect(isNotFound(ingress)).to.equal(true);
    expect((await statusOf())?.link).to.equal(undefined);
  });

  it('reports invalid html, and still serves the former page', async () => {
    await change({ html: 'Hello' });
    expect((await statusOf())?.conditions?.[0]).to.include({ type: 'Ready', status: 'False', reason: 'InvalidHtml' });
    expect(await served()).to.equal(html);
  });
});

describe('the controllers of example 07', () => {
  it('reach the same final state, whatever faults are injected into their requests [slow]', async () => {
    await checkConvergence({
      controllers: [webPageController, deploymentController],
      seeds: 2,
      async scenario({ client, settle }) {
        await client.create(WebPage, page);
        await settle();
        const patch = { spec: { html: '<html>Bye</html>', exposed: false } };
        await client.patch(WebPage, 'hello', { type: 'merge', patch }, { namespace });
      },
    });
  });
});
