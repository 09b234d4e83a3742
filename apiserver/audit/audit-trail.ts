import { ApiError } from '@homeostat/controller-runtime/api';
import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import type { Counter, Metrics } from '@homeostat/controller-runtime/telemetry';
import type { Attributes } from '../authorization/attributes.ts';
import type { UserInfo } from '../identity/user-info.ts';
import { auditLine } from './audit-event.ts';
import type { AuditMoment } from './audit-event.ts';
import { AuditLog } from './audit-log.ts';
import { AuditRules, defaultAuditPolicy } from './audit-policy.ts';
import type { AuditDecision } from './audit-policy.ts';
import { LogFile } from './log-file.ts';
import { readAuditPolicy } from './read-policy.ts';

/** The options of the audit log: the requests to record, and the file for their entries. */
export interface AuditOptions {
  /** The file to which entries are appended, each as one line of JSON. Only the owner of the file can read it. */
  readonly logFile: string;
  /** A file with a Policy of audit.k8s.io/v1. By default, each request is recorded without bodies. */
  readonly policyFile?: string | undefined;
  /** The file is rotated at this size. Default 100 MiB. */
  readonly maxBytes?: number | undefined;
  /**
   * The file is rotated at this age, and a rotated file is deleted this long after its rotation. By default, files are
   * neither rotated nor deleted because of their age.
   */
  readonly maxAgeMs?: number | undefined;
  /** The number of rotated files that are kept. Default 10. */
  readonly maxBackups?: number | undefined;
  /**
   * If true, a write is refused (503) when its entry cannot be written. If false, the default, the write is executed,
   * and the lost entry is logged and counted.
   */
  readonly required?: boolean | undefined;
}

export interface AuditTrailParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

const defaultMaxBytes = 100 * 1024 * 1024;
const defaultMaxBackups = 10;

/** Opens the audit log. Rejects when the policy is invalid, or when the file cannot be written. */
export async function openAuditTrail(options: AuditOptions, parts: AuditTrailParts): Promise<AuditTrail> {
  const { logFile: path, policyFile, maxBytes = defaultMaxBytes, maxAgeMs, maxBackups = defaultMaxBackups } = options;
  const policy = policyFile === undefined ? defaultAuditPolicy : await readAuditPolicy(policyFile);
  const log = new AuditLog({ file: new LogFile({ path, maxBytes, maxAgeMs, maxBackups }), ...parts });
  await log.open().catch((cause: unknown) => {
    throw new Error(`the audit log cannot be written: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  });
  return new AuditTrail({ rules: new AuditRules(policy), log, required: options.required ?? false, ...parts });
}

/** Writes the audit entries of those requests that the policy selects. */
export class AuditTrail {
  /** True when a write is refused unless its entry is written. */
  readonly isRequired: boolean;
  readonly clock: Clock;
  readonly #rules: AuditRules;
  readonly #log: AuditLog;
  readonly #refused: Counter;

  constructor(
    parts: AuditTrailParts & { readonly rules: AuditRules; readonly log: AuditLog; readonly required: boolean },
  ) {
    this.isRequired = parts.required;
    this.clock = parts.clock;
    this.#rules = parts.rules;
    this.#log = parts.log;
    const help = 'Writes that were refused because their audit entry could not be written.';
    this.#refused = parts.metrics.counter({ name: 'apiserver_audit_requests_rejected_total', help }).of();
  }

  /**
   * Returns which entries are recorded for a request. `user` is undefined for a request whose credential was refused.
   */
  decide(user: UserInfo | undefined, attributes: Attributes): AuditDecision {
    return this.#rules.decide(user, attributes);
  }

  /** Adds the entry of a stage to the next batch, without waiting until the entry is written. */
  record(moment: AuditMoment): void {
    this.#log.add(auditLine(moment));
  }

  /**
   * Adds the entry of a stage, and resolves once it is written. Rejects with ApiError ServiceUnavailable when it cannot
   * be written.
   */
  async recordNow(moment: AuditMoment): Promise<void> {
    try {
      await this.#log.addNow(auditLine(moment));
    } catch (cause) {
      this.#refused.inc();
      const message = 'the audit entry of this write could not be written, so nothing was written; try again later';
      throw new ApiError('ServiceUnavailable', message, { cause, retryAfterSeconds: 5 });
    }
  }

  /** Writes the waiting entries, and closes the file. */
  close(): Promise<void> {
    return this.#log.close();
  }
}
