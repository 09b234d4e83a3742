import { useState } from 'preact/hooks';
import { textOf } from '../base/json.ts';
import { Card } from '../parts/basics.tsx';
import { SubjectGrants } from '../parts/subject-grants.tsx';
import { accountSubject, groupSubject, userSubject } from '../state/grants.ts';
import type { Subject } from '../state/grants.ts';

const kinds = ['User', 'Group', 'ServiceAccount'];

/** Lists what a subject may do. The subject need not have an object on this server: it may be a user of an issuer. */
export function WhatMay() {
  const [chosen, setChosen] = useState<{ readonly title: string; readonly subject: Subject }>();
  const ask = (event: SubmitEvent): void => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const fields = new FormData(event.currentTarget);
    const [kind, name, groups] = ['kind', 'name', 'groups'].map((each) => textOf(fields.get(each)).trim());
    setChosen({ title: `${kind} ${name}`, subject: subjectOf(kind ?? '', name ?? '', groups ?? '') });
  };
  return (
    <Card title="What may … do?">
      <form class="filters" onSubmit={ask}>
        <label class="filter">
          <span>Subject</span>
          <select name="kind">
            {kinds.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <label class="filter filter-wide">
          <span>Name</span>
          <input name="name" required placeholder="ada, or namespace/name of a service account" spellcheck={false} />
        </label>
        <label class="filter">
          <span>Groups</span>
          <input name="groups" placeholder="separated by commas" spellcheck={false} />
        </label>
        <button class="button button-primary" type="submit">
          List
        </button>
      </form>
      {chosen === undefined ? null : (
        <section aria-label={chosen.title}>
          <p role="status">The permissions of {chosen.title}, in addition to those of every user:</p>
          <SubjectGrants key={`${chosen.title} ${chosen.subject.groups.join()}`} subject={chosen.subject} />
        </section>
      )}
    </Card>
  );
}

function subjectOf(kind: string, name: string, groups: string): Subject {
  const named = groups.split(',').flatMap((each) => (each.trim() === '' ? [] : [each.trim()]));
  if (kind === 'Group') return groupSubject(name);
  const [namespace = '', account] = name.split('/');
  if (kind === 'ServiceAccount')
    return account === undefined ? accountSubject('default', namespace) : accountSubject(namespace, account);
  return userSubject(name, named);
}
