import { render } from 'preact';
import { App } from './shell/app.tsx';
import { loadKinds } from './state/kinds.ts';

const root = document.querySelector('#app');
if (root !== null) {
  void loadKinds();
  render(<App />, root);
}
