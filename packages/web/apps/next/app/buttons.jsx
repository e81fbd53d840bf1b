'use client';
import { useState } from 'react';
import { useConsent } from '@assent/web/next';

export const Buttons = () => {
  const [count, setCount] = useState(0);
  const consent = useConsent();
  return (
    <>
      <button onClick={() => setCount(count + 1)}>Bought {count}</button>
      <button onClick={consent.open}>Privacy settings</button>
    </>
  );
};
