import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:https';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { issuerCertificate } from '../support/logins/issuer-certificate.ts';
import { browserTimeoutMs, ConsoleBrowser, consoleFolder } from './console.fixture.ts';
import { Ticket, ticketsPath } from './tickets.fixture.ts';

const token = 'the-token-of-the-administrator';
const prefix = '/control/plane';

/**
 * Starts a proxy that terminates TLS, removes `/control/plane` from the start of each path, and forwards the request to
 * the server. A path without `/control/plane` gets 404.
 */
async function startProxy(pem: string, target: string): Promise<Server> {
  const { hostname, port } = new URL(target);
  const proxy = createServer({ key: pem, cert: pem }, (incoming, outgoing) => {
    const { url = '', method, headers } = incoming;
    if (!url.startsWith(`${prefix}/`)) {
      outgoing.writeHead(404).end();
      return;
    }
    const sent = { ...headers, 'x-forwarded-proto': 'https' };
    const options = { hostname, port, method, path: url.slice(prefix.length), headers: sent };
    const passed = request(options, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      outgoing.flushHeaders();
      response.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => {
    proxy.listen(0, '127.0.0.1', resolve);
  });
  return proxy;
}

describe('the console behind a proxy with TLS and a prefix [slow]', function () {
  this.timeout(browserTimeoutMs);
  let browser: ConsoleBrowser;
  let server: TestServer;
  let proxy: Server;
  let folder: string;

  before(async function () {
    browser = await ConsoleBrowser.start(this);
    folder = mkdtempSync(join(tmpdir(), 'homeostat-proxy-'));
    const { pem } = await issuerCertificate(folder);
    server = await startTestServer({
      plugins: [consoleFolder],
      models: [Ticket],
      token,
      trustedProxies: ['127.0.0.1'],
    });
    proxy = await startProxy(pem, server.url);
  });

  after(async () => {
    await browser?.close();
    proxy?.closeAllConnections();
    proxy?.close();
    await server?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });

  it('lets a user log in with a token, see new objects of a kind, and log out', async () => {
    const { port } = proxy.address() as AddressInfo;
    const url = `https://127.0.0.1:${port}${prefix}/console/`;
    const page = await browser.open(`${url}#/kinds/${ticketsPath}`);
    await page.getByText('Log in with a token').click();
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Log in with the token' }).click();
    await page.getByText('live', { exact: true }).waitFor();
    expect(page.url()).to.equal(`${url}#/kinds/${ticketsPath}`);
    const [cookie] = await page.context().cookies();
    expect(cookie).to.include({ name: '__Host-homeostat-session', httpOnly: true, secure: true, sameSite: 'Strict' });
    await server.client.create(Ticket, { metadata: { name: 'seen' }, spec: { title: 'through the proxy' } });
    await page.getByRole('link', { name: 'seen', exact: true }).waitFor();
    await page.getByRole('link', { name: 'API' }).click();
    await page.getByText('Authorize').first().waitFor();
    await page.goto(url);
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByText('Log in with a token').waitFor();
    browser.expectQuiet();
  });
});
