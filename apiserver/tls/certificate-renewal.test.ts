import type { Logger } from '@homeostat/controller-runtime/api';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { CertificateRenewal } from './certificate-renewal.ts';
import type { ServerCertificate } from './tls-options.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

describe('the renewal of a certificate', () => {
  let clock: FakeClock;
  let next: () => ServerCertificate;
  let shown: string[];
  let lines: string[];
  let renewal: CertificateRenewal;

  beforeEach(() => {
    clock = new FakeClock();
    shown = [];
    lines = [];
    const log =
      (level: string) =>
      (_fields: object, message: string): void =>
        void lines.push(`${level}: ${message}`);
    const logger: Logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
    const source = { load: async () => next() };
    const onRenewed = ({ cert }: ServerCertificate): void => {
      if (cert === 'unusable') throw new Error('the server cannot use it');
      shown.push(cert);
    };
    renewal = new CertificateRenewal({ source, clock, logger, onRenewed });
  });

  afterEach(async () => {
    await renewal.stop();
    expect(clock.pendingTimers).to.equal(0);
  });

  function certificate(cert: string, days = 365): ServerCertificate {
    return { key: `key of ${cert}`, cert, ca: undefined, expiresMs: clock.now() + days * dayMs };
  }

  it('passes on a certificate only when the source has a new one', async () => {
    const [first, second] = [certificate('first'), certificate('second')];
    next = () => first;
    renewal.start(first);
    await clock.advance(3 * hourMs);
    expect(shown).to.deep.equal([]);
    next = () => second;
    await clock.advance(3 * hourMs);
    expect(shown).to.deep.equal(['second']);
    expect(lines).to.deep.equal(['info: a new certificate is in use']);
  });

  it('keeps the current certificate, and retries, when no new one can be loaded or used', async () => {
    renewal.start(certificate('first'));
    next = () => {
      throw new Error('damaged');
    };
    await clock.advance(hourMs);
    next = () => certificate('unusable');
    await clock.advance(hourMs);
    expect(lines).to.deep.equal(Array(2).fill('error: no certificate could be loaded: the current one stays in use'));
    next = () => certificate('second');
    await clock.advance(hourMs);
    expect(shown).to.deep.equal(['second']);
  });

  it('logs a warning at each check when the certificate expires within fourteen days', async () => {
    const ending = certificate('ending', 15);
    next = () => ending;
    renewal.start(ending);
    expect(lines).to.deep.equal([]);
    await clock.advance(dayMs + hourMs);
    expect(lines).to.deep.equal(Array(2).fill('warn: the certificate, or its authority, expires soon'));
  });

  it('uses no new certificate after it is stopped', async () => {
    next = () => certificate('late');
    renewal.start(certificate('first'));
    await renewal.stop();
    await clock.advance(dayMs);
    expect(shown).to.deep.equal([]);
  });
});
