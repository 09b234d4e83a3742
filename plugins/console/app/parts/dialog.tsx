import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly isWide?: boolean;
}

/**
 * A modal dialog. The browser keeps the focus inside. Escape closes the dialog, and the focus returns to the element
 * that had it before.
 */
export function Dialog({ title, onClose, children, isWide = false }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    ref.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  // On Escape, the browser must not close the dialog: its event "close" could arrive when another dialog is already
  // open. Instead, `onClose` removes the dialog.
  const cancel = (event: Event): void => {
    event.preventDefault();
    onClose();
  };
  return (
    <dialog ref={ref} class={isWide ? 'dialog dialog-wide' : 'dialog'} aria-label={title} onCancel={cancel}>
      <div class="dialog-head">
        <h2>{title}</h2>
        <button type="button" class="icon-button" aria-label="Close" onClick={onClose}>
          ✕
        </button>
      </div>
      {children}
    </dialog>
  );
}
