import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Health } from '../base/object.ts';
import { formatCount, shortText, visibleText } from '../base/shown-text.ts';
import { formatAge, formatMoment } from '../base/time.ts';
import type { ApiFailure } from '../api/failure.ts';
import { now } from '../state/page-state.ts';

interface Children {
  readonly children?: ComponentChildren;
}

export type Tone = 'good' | 'bad' | 'busy' | 'quiet';

/** A small label with a colour, whose text has the same meaning as the colour. */
export function Badge({ tone, children }: Children & { readonly tone: Tone }) {
  return <span class={`badge badge-${tone}`}>{children}</span>;
}

const healths: Readonly<Record<Health, readonly [Tone, string]>> = {
  ok: ['good', 'Healthy'],
  progressing: ['busy', 'Progressing'],
  failing: ['bad', 'Failing'],
  deleting: ['busy', 'Deleting'],
};

export function HealthBadge({ health }: { readonly health: Health }) {
  const [tone, text] = healths[health];
  return <Badge tone={tone}>{text}</Badge>;
}

/**
 * Shows the time since a moment, with the exact time as its title. With `isSentence`, the text fits into a sentence:
 * `3m ago`.
 */
export function Age({ time, isSentence = false }: { readonly time: string; readonly isSentence?: boolean }) {
  const ms = Date.parse(time);
  if (Number.isNaN(ms)) return <span>{time}</span>;
  return (
    <time dateTime={time} title={`${new Date(ms).toLocaleString()} (${time})`}>
      {isSentence ? formatMoment(ms, now.value) : formatAge(ms, now.value)}
    </time>
  );
}

/** Shows the time until something is due, such as `in 5s`; `now` for a time that has passed. */
export function Due({ time }: { readonly time: string }) {
  const ms = Date.parse(time);
  if (Number.isNaN(ms)) return <span>{time}</span>;
  return (
    <time dateTime={time} title={`${new Date(ms).toLocaleString()} (${time})`}>
      {ms - now.value < 1000 ? 'now' : formatAge(ms, now.value)}
    </time>
  );
}

/** Shows a text of an object, and never interprets it as markup. A long text is cut, and can be expanded. */
export function Text({ value, length = 300 }: { readonly value: string; readonly length?: number }) {
  const [isOpen, setOpen] = useState(false);
  if (value.length <= length) return <bdi>{visibleText(value)}</bdi>;
  return (
    <span>
      <bdi class={isOpen ? 'long-text' : ''}>{isOpen ? visibleText(value) : shortText(value, length)}</bdi>{' '}
      <button type="button" class="link" onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Show less' : 'Show all'}
      </button>
    </span>
  );
}

/** Shows the first 20 labels or annotations, with a button for more. */
export function Chips({ entries }: { readonly entries: readonly (readonly [string, string])[] }) {
  const [count, setCount] = useState(20);
  if (entries.length === 0) return <span class="muted">none</span>;
  return (
    <ul class="chips">
      {entries.slice(0, count).map(([key, value]) => (
        <li key={key} class="chip">
          <bdi class="chip-key">{shortText(key, 80)}</bdi>
          {value === '' ? null : <bdi>{shortText(value, 120)}</bdi>}
        </li>
      ))}
      {entries.length > count ? (
        <li>
          <button type="button" class="link" onClick={() => setCount(count + 500)}>
            {formatCount(entries.length - count)} more
          </button>
        </li>
      ) : null}
    </ul>
  );
}

/** Shows a hint in place of an empty list. */
export function Empty({ title, children }: Children & { readonly title: string }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children === undefined ? null : <div class="muted">{children}</div>}
    </div>
  );
}

/** Shows an error with its cause, and a button that tries again. */
export function Failure({ failure, onRetry }: { readonly failure: ApiFailure; readonly onRetry?: () => void }) {
  const isForbidden = failure.status === 403;
  return (
    <div class="failure" role="alert">
      <p class="failure-title">{isForbidden ? 'You may not do this' : titleOf(failure)}</p>
      <p>
        <Text value={failure.message} length={600} />
      </p>
      {isForbidden ? <p class="muted">Ask an administrator for a role with this permission.</p> : null}
      {onRetry === undefined ? null : (
        <button type="button" class="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

const failureTitles: Readonly<Record<number, string>> = {
  0: 'No connection to the server',
  404: 'Not found',
  409: 'The object was changed meanwhile',
  422: 'Some fields are not valid',
  429: 'Too many requests',
  503: 'Not available yet',
};

function titleOf({ status, reason }: ApiFailure): string {
  if (status === 0 && reason !== 'Unreachable') return 'Something went wrong';
  return failureTitles[status] ?? `The server refused (${status})`;
}

/** Shows that data is being read, but only after a short delay, so that the page does not flicker. */
export function Loading() {
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">Loading</span>
    </div>
  );
}

/**
 * A table with titles of its columns. On a narrow screen, the table scrolls sideways, and the rest of the page does
 * not.
 */
export function Table({
  label,
  titles,
  children,
}: Children & { readonly label: string; readonly titles: readonly string[] }) {
  return (
    <div class="scroll-x" role="region" aria-label={label} tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            {titles.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

/** The head of a page: its title, and its buttons. */
export function PageHead({ title, children }: Children & { readonly title: ComponentChildren }) {
  return (
    <header class="page-head">
      <h1 tabIndex={-1}>{title}</h1>
      <div class="page-actions">{children}</div>
    </header>
  );
}

export function Card({
  title,
  children,
  aside,
}: Children & { readonly title: string; readonly aside?: ComponentChildren }) {
  return (
    <section class="card" aria-label={title}>
      <div class="card-head">
        <h2>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  );
}
