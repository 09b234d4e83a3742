import { useEffect, useRef, useState } from 'preact/hooks';
import { isObject, textOf } from '../base/json.ts';
import { textsIn } from '../base/object.ts';
import { toFailure } from '../api/failure.ts';
import type { ApiFailure } from '../api/failure.ts';
import { Failure } from '../parts/basics.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { pluginGroup } from '../state/kinds.ts';
import { notify } from '../state/page-state.ts';
import { plugins } from '../state/plugins.ts';
import { api, may } from '../state/session.ts';
import { PhaseBadge } from './plugin-phase.tsx';

const archive = () => ({ group: pluginGroup.value, plural: 'plugins/archive' });
const path = '/apis/api.plugins.internal/v1/archives';

/** The server's response about its folder of plugins. */
export interface Archives {
  /** The reason why requests cannot install plugins; empty when they can, and before the server has responded. */
  readonly problem: string;
  /** The names of the plugins that the console can uninstall: those in the server's folder of installed plugins. */
  readonly installed: readonly string[];
}

/**
 * Returns the server's response about its folder of plugins, and requests a new response when plugins are installed or
 * removed.
 */
export function useArchives(): Archives {
  const [archives, setArchives] = useState<Archives>({ problem: '', installed: [] });
  const isAsked = may('create', archive()) || may('delete', archive());
  const names = [...plugins.value.keys()].join();
  useEffect(() => {
    if (!isAsked) return;
    const read = async (): Promise<Archives> => {
      const body = await api.get(path);
      return isObject(body)
        ? { problem: textOf(body.problem), installed: textsIn(body.installed) }
        : { problem: '', installed: [] };
    };
    void read().then(setArchives, (error: unknown) =>
      setArchives({ problem: toFailure(error).message, installed: [] }),
    );
  }, [isAsked, names]);
  return archives;
}

/** A button that installs the plugin of an archive, which the person chooses. */
export function InstallButton({ archives: { problem } }: { readonly archives: Archives }) {
  const [isOpen, setOpen] = useState(false);
  if (!may('create', archive())) return null;
  return (
    <>
      <button
        type="button"
        class="button button-primary"
        disabled={problem !== ''}
        title={problem || undefined}
        onClick={() => setOpen(true)}
      >
        Install…
      </button>
      {isOpen ? <InstallDialog onClose={() => setOpen(false)} /> : null}
    </>
  );
}

type Progress =
  | { readonly step: 'choose' }
  | { readonly step: 'install'; readonly file: string }
  | { readonly step: 'done'; readonly name: string; readonly version: string; readonly replaced: string }
  | { readonly step: 'failed'; readonly failure: ApiFailure };

function InstallDialog({ onClose }: { readonly onClose: () => void }) {
  const [progress, setProgress] = useState<Progress>({ step: 'choose' });
  const input = useRef<HTMLInputElement>(null);
  const install = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const file = input.current?.files?.[0];
    if (file === undefined) return;
    setProgress({ step: 'install', file: file.name });
    try {
      const { body } = await api.call(path, { method: 'POST', contentType: 'application/gzip', body: file });
      const { name, version, replaced } = isObject(body) ? body : {};
      setProgress({ step: 'done', name: textOf(name), version: textOf(version), replaced: textOf(replaced) });
    } catch (error) {
      setProgress({ step: 'failed', failure: toFailure(error) });
    }
  };
  return (
    <Dialog title="Install a plugin" onClose={onClose}>
      <form class="stack" onSubmit={(event) => void install(event)}>
        <p>
          Choose an archive that <code>npm pack</code> made. A plugin is trusted code: it runs in the server.
        </p>
        <label class="field-label">
          Archive (.tgz)
          <input ref={input} type="file" accept=".tgz,.tar.gz,application/gzip" required />
        </label>
        <InstallProgress progress={progress} />
        <div class="dialog-actions">
          <button type="button" class="button" onClick={onClose}>
            Close
          </button>
          <button class="button button-primary" type="submit" disabled={progress.step === 'install'}>
            Install
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function InstallProgress({ progress }: { readonly progress: Progress }) {
  if (progress.step === 'choose') return null;
  if (progress.step === 'failed') return <Failure failure={progress.failure} />;
  if (progress.step === 'install') return <p role="status">{progress.file} is sent, checked and unpacked…</p>;
  const { name, version, replaced } = progress;
  const plugin = plugins.value.get(name);
  const message = isObject(plugin?.status) ? textOf(plugin.status.message) : '';
  return (
    <p role="status" class="line">
      {name} {version} is installed{replaced === '' ? '' : `, in place of ${replaced}`}.
      {plugin === undefined ? null : <PhaseBadge plugin={plugin} />}
      {message === '' ? null : <span class="problem">{message}</span>}
    </p>
  );
}

/** A button that removes an installed plugin, after a confirmation. */
export function UninstallButton({ name }: { readonly name: string }) {
  const [isOpen, setOpen] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<ApiFailure>();
  if (!may('delete', archive(), name)) return null;
  const uninstall = async (): Promise<void> => {
    setBusy(true);
    try {
      await api.call(`${path}/${encodeURIComponent(name)}`, { method: 'DELETE' });
      setOpen(false);
      notify('good', `${name} is uninstalled`);
    } catch (error) {
      setFailure(toFailure(error));
    }
    setBusy(false);
  };
  return (
    <>
      <button type="button" class="button" onClick={() => setOpen(true)}>
        Uninstall…
      </button>
      {isOpen ? (
        <Dialog title={`Uninstall ${name}`} onClose={() => setOpen(false)}>
          <p>The plugin stops, and its files are removed. The objects of its kinds stay in the database.</p>
          {failure === undefined ? null : <Failure failure={failure} />}
          <div class="dialog-actions">
            <button type="button" class="button" onClick={() => setOpen(false)}>
              Cancel
            </button>
            <button type="button" class="button button-danger" disabled={isBusy} onClick={() => void uninstall()}>
              Uninstall
            </button>
          </div>
        </Dialog>
      ) : null}
    </>
  );
}
