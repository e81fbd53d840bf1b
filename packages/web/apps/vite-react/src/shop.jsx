import { useEffect, useState } from 'react';
import { ConsentFrame, ConsentScript, Gate, useConsent } from '@assent/web/react';

const Home = () => (
  <>
    <h1>Home</h1>
    <Gate purposes="analytics" fallback={<p>Statistics are off</p>}>
      <p>Statistics are on</p>
    </Gate>
    <ConsentFrame purposes="analytics" src="http://videos.example/embed" title="Video" />
  </>
);

export const Shop = () => {
  const [path, setPath] = useState(location.pathname);
  const [count, setCount] = useState(0);
  const consent = useConsent();
  useEffect(() => {
    const update = () => setPath(location.pathname);
    addEventListener('popstate', update);
    return () => removeEventListener('popstate', update);
  }, []);
  const go = (event) => {
    event.preventDefault();
    history.pushState(null, '', event.target.href);
    setPath(location.pathname);
  };
  return (
    <>
      <nav>
        <a href="/" onClick={go}>Home page</a> <a href="/second" onClick={go}>Second page</a>
      </nav>
      <ConsentScript src="http://stats.example/vite-react.js" purposes="analytics" cookies={['stats_id']} />
      {path === '/' ? <Home /> : <h1>Second</h1>}
      <button onClick={() => setCount(count + 1)}>Bought {count}</button>
      <button onClick={consent.open}>Privacy settings</button>
    </>
  );
};
