import { render } from 'preact';
import { App } from './shell/app.tsx';
import { loadKinds } from './state/kinds.ts';
import { loadSession } from './state/session.ts';

const root = document.querySelector('#app');
if (root !== null) {
  void Promise.all([loadKinds(), loadSession()]);
  render(<App />, root);
}
