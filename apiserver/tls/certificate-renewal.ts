import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import { PeriodicTask } from '../base/periodic-task.ts';
import type { CertificateSource, ServerCertificate } from './tls-options.ts';

/** The time between two reads of the source. New files are in use after an hour at most. */
const intervalMs = 3_600_000;

/** The remaining validity below which a warning is logged, because the certificate should already have been renewed. */
const warnMs = 14 * 86_400_000;

export interface CertificateRenewalParts {
  readonly source: CertificateSource;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with a new certificate. New connections must use it from then on. */
  readonly onRenewed: (certificate: ServerCertificate) => void;
}

/**
 * Keeps a server's certificate up to date. If no certificate can be loaded, logs the error, and keeps the current one.
 */
export class CertificateRenewal {
  readonly #parts: CertificateRenewalParts;
  readonly #looks: PeriodicTask;
  #current: ServerCertificate | undefined;

  constructor(parts: CertificateRenewalParts) {
    this.#parts = parts;
    this.#looks = new PeriodicTask({ clock: parts.clock, intervalMs, run: () => this.#lookAgain() });
  }

  /** Starts to read the source every hour. `current` is the certificate in use. */
  start(current: ServerCertificate): void {
    this.#warn(current);
    this.#current = current;
    this.#looks.start();
  }

  /** Stops reading the source. Resolves when no read is running any more. */
  async stop(): Promise<void> {
    await this.#looks.stop();
  }

  async #lookAgain(): Promise<void> {
    const { source, logger, onRenewed } = this.#parts;
    const current = this.#current;
    try {
      const next = await source.load();
      this.#warn(next);
      if (current !== undefined && isSame(next, current)) return;
      onRenewed(next);
      logger.info({ until: new Date(next.expiresMs).toISOString() }, 'a new certificate is in use');
      this.#current = next;
    } catch (err) {
      logger.error({ err }, 'no certificate could be loaded: the current one stays in use');
      if (current !== undefined) this.#warn(current);
    }
  }

  #warn({ expiresMs }: ServerCertificate): void {
    const { clock, logger } = this.#parts;
    if (expiresMs - clock.now() > warnMs) return;
    logger.warn({ until: new Date(expiresMs).toISOString() }, 'the certificate, or its authority, expires soon');
  }
}

function isSame(a: ServerCertificate, b: ServerCertificate): boolean {
  return a.cert === b.cert && a.key === b.key && a.clientAuthorities === b.clientAuthorities;
}
