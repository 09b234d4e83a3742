import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { LoginServer } from './support/logins/login-server.ts';

const executablePath = '/usr/bin/chromium';

// The time limit includes the first start of a browser, which is slow on a busy machine.
const browserTimeoutMs = 60_000;

describe('The login at an issuer in chromium [slow]', function () {
  this.timeout(browserTimeoutMs);
  let login: LoginServer;
  let browser: Browser;

  before(async function () {
    if (!existsSync(executablePath)) this.skipBecause(`there is no ${executablePath}: apt-get install chromium`);
    login = await LoginServer.create(1);
    await login.configure({ name: 'staff', more: '    displayName: Staff\n' });
    await login.start();
    const exp = Math.floor(login.clock.now() / 1000) + 300;
    await login.issuer.expect({ sub: 'ann', hd: 'example.com', exp });
    // As root, chromium starts only without its sandbox.
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  });

  after(async () => {
    await browser?.close();
    await login?.close();
  });

  it('leads to the requested page with a session, which ends at the logout', async () => {
    // The issuer has a certificate that chromium does not know.
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    const { url } = login.server.api;
    // The test uses localhost and 127.0.0.1, because they are two sites for the browser, as a server and its issuer
    // are.
    const server = url.replace('127.0.0.1', 'localhost');
    await page.goto(`${server}/docs#/here`);
    await page.getByText('Log in with Staff').click();
    await page.waitForURL(`${server}/docs#/here`);
    await page.locator('.swagger-ui').first().waitFor();
    const cookies = await context.cookies();
    expect(cookies.map(({ name, sameSite, httpOnly }) => [name, sameSite, httpOnly])).to.deep.equal([
      ['homeostat-session', 'Strict', true],
    ]);
    const status = async (path: string, method = 'GET'): Promise<number> =>
      page.evaluate(async ([to, by]) => (await fetch(String(to), { method: String(by) })).status, [path, method]);
    expect(await status('/apis')).to.equal(200);
    expect(await status('/logout', 'POST')).to.equal(204);
    // The browser reports each 401 as an error, also that of the login page. The test expects no other errors.
    expect(complaints.filter((text) => !text.includes('401'))).to.deep.equal([]);
    expect(await status('/apis')).to.equal(401);
    await context.close();
  });
});
