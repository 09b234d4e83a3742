import { useState } from 'preact/hooks';
import { textOf } from '../base/json.ts';
import { api, isSessionOver, logIn } from '../state/session.ts';
import { Dialog } from '../parts/dialog.tsx';

/** Asks for the password again over the open page, so that nothing that was typed is lost. */
export function LoginDialog() {
  const [problem, setProblem] = useState<string>();
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const fields = new FormData(event.currentTarget);
    setProblem(await logIn(textOf(fields.get('user')), textOf(fields.get('password'))));
  };
  const next = new URL(location.href);
  const page = api.url('/login', { next: next.pathname + next.search + next.hash });
  return (
    <Dialog title="Your session has ended" onClose={() => (isSessionOver.value = false)}>
      <p>Log in again to go on. This page stays as it is.</p>
      <form class="stack" onSubmit={(event) => void submit(event)}>
        <label class="field-label">
          User
          <input name="user" autocomplete="username" required />
        </label>
        <label class="field-label">
          Password
          <input name="password" type="password" autocomplete="current-password" required />
        </label>
        {problem === undefined ? null : <p role="alert">{problem}</p>}
        <div class="dialog-actions">
          <a class="button" href={page}>
            Other ways to log in
          </a>
          <button class="button button-primary" type="submit">
            Log in
          </button>
        </div>
      </form>
    </Dialog>
  );
}
