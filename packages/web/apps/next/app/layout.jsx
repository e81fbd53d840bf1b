import Link from 'next/link';
import { ConsentScript, ConsentTag } from '@assent/web/next';
import { Buttons } from './buttons.jsx';

export const metadata = { title: 'Shop' };

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>
        <ConsentTag service="http://consent.example" pixel="next" />
        <ConsentScript src="http://stats.example/next.js" purposes="analytics" cookies={['stats_id']} />
        <nav>
          <Link href="/">Home page</Link> <Link href="/second">Second page</Link>
        </nav>
        {children}
        <Buttons />
      </body>
    </html>
  );
}
