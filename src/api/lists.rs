use crate::accounts::activity_log::EventPage;
use crate::accounts::grants::GrantList;
use crate::accounts::keys::KeyList;
use crate::accounts::members::member_list::MemberList;
use crate::accounts::plans::PlanList;
use crate::contacts::suppressions::list::SuppressionPage;
use crate::contacts::withdrawn::WithdrawnContacts;
use crate::erasure::of_visitor::OwnRequests;
use crate::erasure::owner::ErasureRequestPage;
use crate::http::listed::List;
use crate::pixels::view::PixelList;
use crate::policies::screenshots::view::ScreenshotPage;
use crate::receipts::consent_log::ConsentLog;
use crate::receipts::history::History;
use crate::sharing::view::SharedLinkList;
use crate::silence::view::WatchReportPage;
use crate::webhooks::delivery::DeliveryList;
use crate::webhooks::endpoint::EndpointList;

macro_rules! whole {
    ($($list:ty),+ $(,)?) => {
        $(impl List for $list {
            fn next(&self) -> Option<(&'static str, String)> {
                None
            }
        })+
    };
}

whole![
    PlanList,
    PixelList,
    KeyList,
    MemberList,
    GrantList,
    EndpointList,
    DeliveryList,
    OwnRequests,
    SharedLinkList,
];

impl List for ConsentLog {
    fn next(&self) -> Option<(&'static str, String)> {
        Some(("before", self.next_before.clone()?))
    }
}

/// Lists whose next page is requested with the parameter `before`.
macro_rules! before {
    ($($list:ty),+ $(,)?) => {
        $(impl List for $list {
            fn next(&self) -> Option<(&'static str, String)> {
                Some(("before", self.next_before?.to_string()))
            }
        })+
    };
}

before![History, EventPage, WatchReportPage, ScreenshotPage];

impl List for SuppressionPage {
    fn next(&self) -> Option<(&'static str, String)> {
        Some(("after", self.next_after?.to_hex()))
    }
}

impl List for ErasureRequestPage {
    fn next(&self) -> Option<(&'static str, String)> {
        Some(("after", self.next_after?.to_string()))
    }
}

impl List for WithdrawnContacts {
    fn next(&self) -> Option<(&'static str, String)> {
        self.is_full.then(|| ("after", self.high_water.to_string()))
    }
}
